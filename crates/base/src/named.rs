//! Enums with named variants, for workload files, documents and tables.

/// Defines an enum whose variants have names.
///
/// The enum is `Copy`. Serde writes and reads a variant as its name. The macro adds `ALL`, `NAMES`, `name()`, `from_name()`, `Display`
/// and `FromStr`; the error of `FromStr` lists all names.
///
/// ```
/// offered_base::named! {
///     /// How a thread waits for an instant.
///     pub enum Wait {
///         /// It polls the clock.
///         Spin = "spin",
///         /// It gives up its processor.
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
            /// All variants.
            pub const ALL: [Self; Self::NAMES.len()] = [$(Self::$Variant),+];
            /// The names of all variants, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name of this variant.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }

            /// The variant with this name.
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
