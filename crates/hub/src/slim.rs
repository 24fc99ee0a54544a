//! Objects of the core group of which only a few fields are read: what nobody asks for is not even taken out of the text.

/// Makes a type with `metadata` one that can be listed and watched, as this kind.
macro_rules! of_core {
    ($slim:ty, $kind:literal, $plural:literal, $scope:ty) => {
        impl kube::Resource for $slim {
            type DynamicType = ();
            type Scope = $scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                $kind.into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                "".into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                "v1".into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use of_core;
