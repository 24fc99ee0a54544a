//! The dashboard beside the embedded API: signing in, looking, and doing.

mod acting;
mod line;
mod looking;
mod pages;
mod signing;
mod whole;
mod world;
