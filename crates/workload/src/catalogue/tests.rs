use super::*;

fn catalogue(text: &str) -> Arc<Catalogue> {
    Arc::new(Catalogue::parse(text, "files.csv").unwrap_or_else(|why| panic!("{why}")))
}

fn shares(one_of: &OneOf, sessions: u64) -> HashMap<String, f64> {
    let mut shares = HashMap::new();
    for session in 0..sessions {
        *shares.entry(one_of.drawn(Seed(7), session, 0).path.to_owned()).or_default() += 1.0 / sessions as f64;
    }
    shares
}

#[test]
fn each_file_is_chosen_by_its_weight_in_its_class() {
    let all = catalogue("class,path,weight\nhtml,/a,1\nimage,/b,3\nhtml,/c,8\nhtml,/d,0\nhtml,/e,1\nimage,/f,0.5\n");
    assert_eq!(all.classes().unwrap(), ["html", "image"]);
    let [html, image] = OneOf::each(&all).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((all.share(0), all.share(1)), (10.0 / 13.5, 3.5 / 13.5));
    let drawn = shares(&html, 100_000);
    for (path, share) in [("/a", 0.1), ("/c", 0.8), ("/e", 0.1)] {
        assert!((drawn[path] - share).abs() < 0.005, "{drawn:?}");
    }
    assert_eq!(drawn.len(), 3);
    assert!((shares(&image, 100_000)["/b"] - 6.0 / 7.0).abs() < 0.005);
    // A function of seed, session and step, independent of other requests and other classes.
    assert_eq!(html.drawn(Seed(7), 17, 3).path, html.drawn(Seed(7), 17, 3).path);
}

#[test]
fn the_distribution_of_a_class_is_weighted() {
    let all = catalogue("path,weight,service\n/a,3,10ms\n/b,1,50ms\n/never,0,9s\n");
    let [one_of] = OneOf::each(&all).collect::<Vec<_>>().try_into().unwrap();
    let distribution = one_of.distribution().unwrap();
    assert_eq!(distribution.mean(), 0.02);
    assert!((distribution.second_moment() - (0.75 * 1e-4 + 0.25 * 25e-4)).abs() < 1e-12);
    assert_eq!(distribution.atoms().unwrap(), [(0.75, 0.01), (0.25, 0.05)]);
    assert_eq!(
        (distribution.cdf(0.01), distribution.quantile(0.74), distribution.quantile(0.76)),
        (0.75, Some(0.01), Some(0.05))
    );
    assert!(distribution.scaled(2.0).unwrap().mean() == 0.04);
    let mean = (0..100_000).map(|n| one_of.drawn(Seed(1), n, 0).work.unwrap().as_secs_f64()).sum::<f64>() / 1e5;
    assert!((mean / distribution.mean() - 1.0).abs() < 0.02, "{mean}");
    // A single size is a constant distribution, also if it is zero.
    for (service, mean) in [("5ms", 0.005), ("0s", 0.0)] {
        let all = catalogue(&format!("path,service\n/a,{service}\n/b,{service}\n"));
        assert_eq!(OneOf::each(&all).next().unwrap().distribution(), Some(&Distribution::constant(mean).unwrap()));
    }
}

#[test]
fn a_file_is_found_by_its_path() {
    let all = catalogue("path,class,service\n/z,big,2s\n/a?x=1,small,1s\n/m,big,3s\n");
    let index = Index::new(&all);
    let (class, file) = index.find("/m").unwrap();
    assert_eq!((class, file.path, file.work), (0, "/m", Some(Nanos::from_secs(3))));
    assert_eq!(index.find("/a?x=1").map(|(class, _)| class), Some(1));
    assert!(index.find("/a").is_none() && index.find("").is_none());
}

#[test]
fn a_million_files_are_read_and_drawn_from() {
    use std::fmt::Write as _;
    let mut text = "path,weight,service,class\n".to_owned();
    for n in 0..1_000_000 {
        writeln!(
            text,
            "/files/{n}.bin,{},{}us,{}",
            1.0 / f64::from(n + 1),
            n + 1,
            ["small", "large"][usize::from(n > 500_000)]
        )
        .unwrap();
    }
    let all = catalogue(&text);
    let small = OneOf::each(&all).next().unwrap();
    // Zipf's distribution: the first of n has a share of 1 / H(n).
    let first = shares(&small, 20_000)["/files/0.bin"];
    assert!((first - 1.0 / (500_001f64.ln() + 0.577)).abs() < 0.01, "{first}");
    assert_eq!((all.len(), Index::new(&all).find("/files/999999.bin").unwrap().0), (1_000_000, 1));
}

#[test]
fn invalid_catalogues_are_errors_with_their_line() {
    for (text, why) in [
        ("", "files.csv:1: no column `path`; the first line names the columns, which are path, weight, service, class"),
        ("path,wieght\n/a,1\n", "files.csv:1: unknown column `wieght` (did you mean `weight`?); the first line"),
        ("path,path\n/a,/b\n", "files.csv:1: a second column `path`"),
        ("path\n", "files.csv: the catalogue has no files"),
        ("path\n/a\nb\n", "files.csv:3: `b` is not a path"),
        ("path\n/a b\n", "files.csv:2: `/a b` is not a path"),
        ("path,weight\n/a,1\n/b\n", "files.csv:3: 1 values for 2 columns"),
        ("path,weight\n/a,-1\n", "files.csv:2: the weight `-1` is not a number of zero or more"),
        ("path,weight\n/a,inf\n", "files.csv:2: the weight `inf`"),
        ("path,weight\n/a,0\n", "files.csv: the weights of the catalogue are all zero"),
        (
            "path,weight\n/a,1e308\n/b,1e308\n",
            "files.csv: the weights of the catalogue are all zero, or their sum is infinite",
        ),
        ("path,class,weight\n/a,x,1\n/b,y,0\n", "files.csv: the weights of the class `y` are all zero"),
        ("path,service\n/a,12\n", "files.csv:2: the service `12` is not a time with its unit, such as 12.5ms"),
        ("path,class\n/a,\n", "files.csv:2: the class is empty"),
        ("path\n/a\n/b\n/a\n", "files.csv:4: duplicate path `/a`"),
    ] {
        let found = Catalogue::parse(text, "files.csv").unwrap_err().to_string();
        assert!(found.starts_with(why), "{text:?}: {found}");
    }
    // As a spreadsheet writes it: a byte order mark, quotes, and CRLF.
    assert_eq!(catalogue("\u{feff}path,class\r\n\"/a,b\",x\r\n").path(0), "/a,b");
}
