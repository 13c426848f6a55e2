//! Enums whose variants have names that are written and read: in workload files, in documents, in tables.

/// An enum of which every variant has a name, said once.
///
/// It is `Copy`, written and read by serde as its name, and has `ALL`, `NAMES`, `name()`, `from_name()`, `Display` and
/// `FromStr`, whose error lists the names there are.
///
/// ```
/// offered_base::named! {
///     /// How a thread waits.
///     pub enum Wait {
///         /// On its processor.
///         Spin = "spin",
///         /// Off it.
///         Sleep = "sleep",
///     }
/// }
/// assert_eq!("sleep".parse(), Ok(Wait::Sleep));
/// assert_eq!("slep".parse::<Wait>().unwrap_err().to_string(), "`slep` is not one of spin, sleep (did you mean `sleep`?)");
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$of_all:meta])* pub enum $Enum:ident { $($(#[$of_one:meta])* $Variant:ident = $name:literal,)+ }) => {
        $(#[$of_all])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(::schemars::JsonSchema))]
        pub enum $Enum {
            $($(#[$of_one])* #[serde(rename = $name)] $Variant,)+
        }

        impl $Enum {
            /// All of them.
            pub const ALL: [Self; Self::NAMES.len()] = [$(Self::$Variant),+];
            /// Their names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Its name, as it is written.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }

            /// The one of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }

        impl ::std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::std::str::FromStr for $Enum {
            type Err = $crate::InvalidValue;

            fn from_str(name: &str) -> ::std::result::Result<Self, $crate::InvalidValue> {
                Self::from_name(name).ok_or_else(|| $crate::InvalidValue::no_name(name, Self::NAMES))
            }
        }
    };
}
