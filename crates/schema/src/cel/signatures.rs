//! The functions a rule may call: those of Kubernetes 1.36, no more and no fewer.
//!
//! One line per function: the receiver before the dot (none for a plain call), the alternatives of each argument, the
//! result. `A` and `B` stand for any type, the same one everywhere in a line; `[A]` is a list, `{A:B}` a map, `?A` an
//! optional.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::types::Type;

const TABLE: &str = "
size(string|bytes|[A]|{A:B}) int
string.size() int
bytes.size() int
[A].size() int
{A:B}.size() int
int(int|uint|double|string|timestamp|duration) int
uint(int|uint|double|string) uint
double(int|uint|double|string) double
string(string|int|uint|double|bool|bytes|timestamp|duration|ip|cidr) string
bytes(bytes|string) bytes
bool(bool|string) bool
timestamp(timestamp|string|int) timestamp
duration(duration|string|int) duration
dyn(A) dyn
type(A) type
matches(string,string) bool
string.matches(string) bool
string.contains(string) bool
string.startsWith(string) bool
string.endsWith(string) bool
timestamp.getFullYear(string?) int
timestamp.getMonth(string?) int
timestamp.getDayOfYear(string?) int
timestamp.getDayOfMonth(string?) int
timestamp.getDate(string?) int
timestamp.getDayOfWeek(string?) int
timestamp.getHours(string?) int
timestamp.getMinutes(string?) int
timestamp.getSeconds(string?) int
timestamp.getMilliseconds(string?) int
duration.getHours() int
duration.getMinutes() int
duration.getSeconds() int
duration.getMilliseconds() int
string.charAt(int) string
string.indexOf(string,int?) int
string.lastIndexOf(string,int?) int
string.lowerAscii() string
string.upperAscii() string
string.replace(string,string,int?) string
string.split(string,int?) [string]
string.substring(int,int?) string
string.trim() string
string.format([dyn]) string
strings.quote(string) string
[string].join(string?) string
[A].isSorted() bool
[int].sum() int
[uint].sum() uint
[double].sum() double
[duration].sum() duration
[A].min() A
[A].max() A
[A].indexOf(A) int
[A].lastIndexOf(A) int
[A].slice(int,int) [A]
[[A]].flatten() [A]
[dyn].flatten(int) [dyn]
[A].sort() [A]
[A].distinct() [A]
[A].reverse() [A]
[A].first() ?A
[A].last() ?A
[?A].unwrapOpt() [A]
optional.unwrap([?A]) [A]
lists.range(int) [int]
sets.contains([A],[A]) bool
sets.equivalent([A],[A]) bool
sets.intersects([A],[A]) bool
string.find(string) string
string.findAll(string,int?) [string]
url(string) url
isURL(string) bool
url.getScheme() string
url.getHost() string
url.getHostname() string
url.getPort() string
url.getEscapedPath() string
url.getQuery() {string:[string]}
quantity(string) quantity
isQuantity(string) bool
sign(quantity) int
quantity.sign() int
quantity.isInteger() bool
quantity.asInteger() int
quantity.asApproximateFloat() double
quantity.add(quantity|int) quantity
quantity.sub(quantity|int) quantity
quantity.isLessThan(quantity) bool
quantity.isGreaterThan(quantity) bool
quantity.compareTo(quantity) int
ip(string) ip
isIP(string) bool
ip.isCanonical(string) bool
ip.family() int
ip.isUnspecified() bool
ip.isLoopback() bool
ip.isLinkLocalMulticast() bool
ip.isLinkLocalUnicast() bool
ip.isGlobalUnicast() bool
cidr(string) cidr
isCIDR(string) bool
cidr.containsIP(string|ip) bool
cidr.containsCIDR(string|cidr) bool
cidr.ip() ip
cidr.masked() cidr
cidr.prefixLength() int
semver(string,bool?) semver
isSemver(string,bool?) bool
semver.major() int
semver.minor() int
semver.patch() int
semver.isLessThan(semver) bool
semver.isGreaterThan(semver) bool
semver.compareTo(semver) int
format.named(string) ?format
format.dns1123Label() format
format.dns1123LabelPrefix() format
format.dns1123Subdomain() format
format.dns1123SubdomainPrefix() format
format.dns1035Label() format
format.dns1035LabelPrefix() format
format.qualifiedName() format
format.labelValue() format
format.uri() format
format.uuid() format
format.byte() format
format.date() format
format.datetime() format
format.validate(string) ?[string]
optional.of(A) ?A
optional.ofNonZeroValue(A) ?A
optional.none() ?A
?A.hasValue() bool
?A.value() A
?A.or(?A) ?A
?A.orValue(A) A
";

/// Words before a dot that are not values but part of a function's name.
const NAMESPACES: [&str; 6] = ["strings", "optional", "lists", "sets", "ip", "format"];
/// Functions of those namespaces which are nevertheless called on a value.
const METHODS: [&str; 8] = [
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "validate",
    "ip",
];

/// One line of the table.
#[derive(Debug)]
pub(super) struct Signature {
    /// With the namespace, if it has one.
    pub(super) name: &'static str,
    pub(super) receiver: Option<Type>,
    /// The alternatives of each argument.
    pub(super) args: Vec<Vec<Type>>,
    /// How many of the last arguments may be missing.
    pub(super) optional: usize,
    pub(super) result: Type,
}

/// All signatures of a name.
pub(super) fn find(name: &str) -> &'static [Signature] {
    static ALL: LazyLock<BTreeMap<&'static str, Vec<Signature>>> = LazyLock::new(|| {
        let mut all: BTreeMap<&'static str, Vec<Signature>> = BTreeMap::new();
        for signature in TABLE.lines().filter(|line| !line.is_empty()).map(read) {
            all.entry(signature.name).or_default().push(signature);
        }
        all
    });
    ALL.get(name).map_or(&[], Vec::as_slice)
}

fn read(line: &'static str) -> Signature {
    let (head, rest) = line.split_once('(').expect("every line of the table has an opening bracket");
    let (args, result) = rest.rsplit_once(") ").expect("every line of the table has a result");
    let (receiver, name) = match head.rsplit_once('.') {
        Some((namespace, method)) if NAMESPACES.contains(&namespace) && !METHODS.contains(&method) => {
            (None, head)
        }
        Some((receiver, method)) => (Some(read_type(receiver)), method),
        None => (None, head),
    };
    let mut optional = 0;
    let args = split_args(args)
        .into_iter()
        .map(|arg| {
            let arg = match arg.strip_suffix('?') {
                Some(arg) => {
                    optional += 1;
                    arg
                }
                None => arg,
            };
            arg.split('|').map(read_type).collect()
        })
        .collect();
    Signature { name, receiver, args, optional, result: read_type(result) }
}

/// Splits at commas; no type in the table contains one.
fn split_args(text: &'static str) -> Vec<&'static str> {
    if text.is_empty() { Vec::new() } else { text.split(',').collect() }
}

fn read_type(text: &'static str) -> Type {
    let unwrap = |text: &'static str, ends: [char; 2]| text.strip_prefix(ends[0])?.strip_suffix(ends[1]);
    if let Some(inner) = text.strip_prefix('?') {
        return Type::Optional(Arc::new(read_type(inner)));
    }
    if let Some(item) = unwrap(text, ['[', ']']) {
        return Type::list(read_type(item));
    }
    if let Some((key, value)) = unwrap(text, ['{', '}']).and_then(|inner| inner.split_once(':')) {
        return Type::map(read_type(key), read_type(value));
    }
    match text {
        "A" => Type::Param(0),
        "B" => Type::Param(1),
        "dyn" => Type::Dyn,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::Text,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "type" => Type::Meta,
        name => Type::Named(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        for line in TABLE.lines().filter(|line| !line.is_empty()) {
            let name = read(line).name;
            assert!(!find(name).is_empty(), "{name}");
        }
        assert_eq!(find("indexOf").len(), 2);
        assert!(find("ip.isCanonical")[0].receiver.is_none());
        assert!(find("validate")[0].receiver == Some(Type::Named("format")));
        assert!(find("cel.bind").is_empty());
    }
}
