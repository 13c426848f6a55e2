//! SQLSTATE: the error code of a database, five characters (ISO/IEC 9075). The first two are the class.

use std::fmt;
use std::str::FromStr;

use offered_base::InvalidValue;

/// A code such as `40001`: five digits and capital letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The code as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The name of its class (PostgreSQL's manual, appendix A); `None`: not a class of PostgreSQL.
    pub fn class(&self) -> Option<&'static str> {
        Some(match &self.as_str()[..2] {
            "00" => "successful completion",
            "01" => "warning",
            "02" => "no data",
            "03" => "SQL statement not yet complete",
            "08" => "connection exception",
            "09" => "triggered action exception",
            "0A" => "feature not supported",
            "0B" => "invalid transaction initiation",
            "0F" => "locator exception",
            "0L" => "invalid grantor",
            "0P" => "invalid role specification",
            "0Z" => "diagnostics exception",
            "10" => "XQuery error",
            "20" => "case not found",
            "21" => "cardinality violation",
            "22" => "data exception",
            "23" => "integrity constraint violation",
            "24" => "invalid cursor state",
            "25" => "invalid transaction state",
            "26" => "invalid SQL statement name",
            "27" => "triggered data change violation",
            "28" => "invalid authorization specification",
            "2B" => "dependent privilege descriptors still exist",
            "2D" => "invalid transaction termination",
            "2F" => "SQL routine exception",
            "34" => "invalid cursor name",
            "38" => "external routine exception",
            "39" => "external routine invocation exception",
            "3B" => "savepoint exception",
            "3D" => "invalid catalog name",
            "3F" => "invalid schema name",
            "40" => "transaction rollback",
            "42" => "syntax error or access rule violation",
            "44" => "WITH CHECK OPTION violation",
            "53" => "insufficient resources",
            "54" => "program limit exceeded",
            "55" => "object not in prerequisite state",
            "57" => "operator intervention",
            "58" => "system error",
            "F0" => "configuration file error",
            "HV" => "foreign data wrapper error",
            "P0" => "PL/pgSQL error",
            "XX" => "internal error",
            _ => return None,
        })
    }
}

impl FromStr for SqlState {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let code = text.as_bytes().try_into().ok();
        let code = code.filter(|code: &[u8; 5]| code.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()));
        code.map(Self)
            .ok_or_else(|| InvalidValue::new(format!("`{text}` is not a SQLSTATE: five digits and capital letters")))
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_a_class() {
        let class = |code: &str| code.parse::<SqlState>().unwrap().class();
        assert_eq!(
            (class("40001"), class("23505")),
            (Some("transaction rollback"), Some("integrity constraint violation"))
        );
        assert_eq!((class("P0001"), class("99999")), (Some("PL/pgSQL error"), None));
        for wrong in ["", "4000", "400011", "4000a", "4000é"] {
            assert!(wrong.parse::<SqlState>().is_err(), "{wrong}");
        }
    }
}
