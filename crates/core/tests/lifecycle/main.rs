//! The pod operations lifecycle: cases as data, the table of phases, what it does better than the reference, properties.

mod cases;
mod explaining;
mod properties;
mod rules;
mod support;
mod table;
mod weaknesses;
