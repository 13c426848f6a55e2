use super::*;
use proptest::prelude::*;

fn text(text: &str) -> Piece {
    Piece::Text(text.into())
}

fn value(variable: &str, column: Option<&str>) -> Piece {
    Piece::Value(Name { variable: variable.into(), column: column.map(Into::into), raw: false })
}

#[test]
fn places_are_words_in_braces_and_other_braces_stay() {
    for (written, pieces) in [
        ("", vec![]),
        ("/plain", vec![text("/plain")]),
        ("/u/{{session}}?n={{sequence}}", vec![text("/u/"), Piece::Session, text("?n="), Piece::Sequence]),
        ("{{a}}{{ b_2.c-d }}", vec![value("a", None), value("b_2", Some("c-d"))]),
        (
            r#"{"user":{"id":{{id}}},"deep":{"a":{}}}"#,
            vec![text(r#"{"user":{"id":"#), value("id", None), text(r#"},"deep":{"a":{}}}"#)],
        ),
        ("query{order{user}}", vec![text("query{order{user}}")]),
        (
            "{a} {session} x{5}y{1,3}{ a }{{}}{{ }}{{a}{{\na}}{{",
            vec![text("{a} {session} x{5}y{1,3}{ a }{{}}{{ }}{{a}{{\na}}{{")],
        ),
        ("{{{a}}}", vec![text("{"), value("a", None), text("}")]),
        ("{{'{{'}}name}}", vec![text("{{name}}")]),
        ("{{'{'}}a} {{ \"it's\" }}{{'}}'}}", vec![text("{a} it's}}")]),
        (
            "{{run}}{{ now | unix }}{{now}}{{now|unix_ms}}{{now|%d.%m. %H:%M%%}}",
            vec![
                Piece::Run,
                Piece::Now(Stamp::Unix),
                Piece::Now(Stamp::Iso),
                Piece::Now(Stamp::UnixMs),
                Piece::Now(Stamp::Format("%d.%m. %H:%M%%".into())),
            ],
        ),
        ("{{now|%Q}}", vec![value("now|%Q", None)]),
        // An invalid name is reported, and not sent.
        ("{{a.}}", vec![value("a.", None)]),
        ("{{'a}}", vec![value("'a", None)]),
    ] {
        assert_eq!(Template::new(written).pieces(), pieces, "{written}");
    }
}

#[test]
fn names_in_single_braces_are_not_placeholders() {
    for (written, singles) in [
        ("/{shop}/{{user}}/{user.name}?{'a'}", vec!["shop", "user.name"]),
        ("{\"id\": {id|raw}, \"n\": {{n}}}", vec!["id|raw"]),
        ("{{'{'}}shop} {{{a}}} { b } {2}", vec![]),
    ] {
        assert_eq!(Template::new(written).singles(), singles, "{written}");
    }
    assert!(Template::new(Template::literal("/{shop}{{x}}").written()).singles().is_empty());
}

#[test]
fn values_for_all_sessions_are_put_in_once() {
    let template = Template::new("/{{shop}}/{{user.name}}/{{shop}}");
    let filled = template.filled(|name| (&*name.variable == "shop").then(|| "north".to_owned()), |_, _, value| value);
    assert_eq!(filled.pieces(), [text("/north/"), value("user", Some("name")), text("/north")]);
    assert_eq!(filled.as_str(), "/north/{{user.name}}/north");
    let text = Template::new("{{shop}}{{'{{'}}shop}}{{session}}").filled(|_| Some("{".to_owned()), |_, _, value| value);
    assert_eq!(text.text(), None);
    assert_eq!(Template::new(text.as_str()).pieces(), text.pieces());
    assert_eq!(text.written(), "{{shop}}{{'{{'}}shop}}{{session}}");
}

#[test]
fn values_in_urls_are_encoded_where_they_must_be() {
    for (before, value, written) in [
        ("/find?q=", "a b&c=ü/", "a%20b%26c%3D%C3%BC%2F"),
        ("/find?q=", "100%", "100%25"),
        ("/item/", "7/large?x=a%20b", "7/large?x=a%20b"),
        ("", "/next page?a=1&b=2#top", "/next%20page?a=1&b=2%23top"),
        ("/", "a\r\nHost: x", "a%0D%0AHost:%20x"),
    ] {
        assert_eq!(in_url(before, value), written, "{value} behind {before}");
    }
}

proptest! {
    #[test]
    fn a_printed_template_is_read_as_itself(written in r"([a-c{}.\-_0-9]|session|\PC){0,40}") {
        let template = Template::new(&written);
        prop_assert_eq!(&Template::new(&template.to_string()), &template);
        // Texts are never empty and never beside each other.
        let is_text = |piece: &Piece| matches!(piece, Piece::Text(_));
        prop_assert!(template.pieces().windows(2).all(|pair| !(is_text(&pair[0]) && is_text(&pair[1]))));
        prop_assert!(!template.pieces().contains(&text("")));
    }

    #[test]
    fn any_text_can_be_a_template(said in r"([ab{}'\x22|.]|session|\PC){0,30}", value in r"[{}'a]{0,5}") {
        let literal = Template::literal(&said);
        prop_assert_eq!(literal.text(), Some(said.as_str()));
        let read = Template::new(literal.written());
        prop_assert_eq!(read.text(), Some(said.as_str()));
        // Beside a place too, and where a value brings the braces.
        let filled = Template::new(&format!("{}{{{{v}}}}{{{{session}}}}", literal.written()));
        let filled = filled.filled(|_| Some(value.clone()), |_, _, value| value);
        let pieces = [vec![text(&format!("{said}{value}")); usize::from(!(said.is_empty() && value.is_empty()))], vec![Piece::Session]];
        let again = Template::new(filled.as_str());
        prop_assert_eq!(again.pieces(), pieces.concat());
    }
}

#[test]
fn values_are_escaped_by_format() {
    let put = |text: &str, media_type: Option<&str>| {
        let template = Template::new(text);
        let escapings = template.escapings(Format::of(media_type, &template));
        template
            .filled(
                |_| Some("say \"hi\" & <go>\\".to_owned()),
                |piece, _, value| escapings[piece].apply(&value).into_owned(),
            )
            .as_str()
            .to_owned()
    };
    let (bare, json) = ("say \"hi\" & <go>\\", "say \\\"hi\\\" & <go>\\\\");
    let (xml, form) = ("say &quot;hi&quot; &amp; &lt;go&gt;\\", "say+%22hi%22+%26+%3Cgo%3E%5C");
    for (text, media_type, expected) in [
        ("{\"a\": \"x {{v}}\"}", None, format!("{{\"a\": \"x {json}\"}}")),
        ("[\"\\\"{{v}}\"]", Some("application/problem+json"), format!("[\"\\\"{json}\"]")),
        ("{\"a\": {{v}}}", None, format!("{{\"a\": {bare}}}")),
        ("{\"a\": \"{{v|raw}}\"}", None, format!("{{\"a\": \"{bare}\"}}")),
        ("{\"a\": \"{{v}}\"}", Some("text/plain"), format!("{{\"a\": \"{bare}\"}}")),
        ("\n<a b='{{v}}'/>", None, format!("\n<a b='{xml}'/>")),
        ("a={{v}}&b={{v|raw}}", Some("application/x-www-form-urlencoded"), format!("a={form}&b={bare}")),
        ("a={{v}}", None, format!("a={bare}")),
        ("{{v}}", Some("application/JSON; charset=utf-8"), bare.to_owned()),
    ] {
        assert_eq!(put(text, media_type), expected, "{text}");
    }
    let document = put("{\"a\": \"x {{v}}\", \"b\": \"{{v}}\"}", None);
    let read: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!((read["a"].as_str(), read["b"].as_str()), (Some(&*format!("x {bare}")), Some(bare)));
}

#[test]
fn a_raw_place_is_written_as_it_was_read() {
    for text in [
        "{{run}} {{now}} {{now|unix}} {{now|unix_ms}} {{now|%F}}",
        "{{a|raw}}",
        "{{a.b | raw}} {{session}}",
        "{{'{{'}}a|raw}}",
    ] {
        let template = Template::new(text);
        assert_eq!(Template::new(&template.to_string()), template, "{text}");
    }
    assert_eq!(Template::new("{{'{{'}}a|raw}}").text(), Some("{{a|raw}}"));
    // Another way of writing it is no name, which a workload refuses.
    assert_eq!(Template::new("{{a|row}}").pieces(), [value("a|row", None)]);
}
