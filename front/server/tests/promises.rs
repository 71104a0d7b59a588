//! What a server promises it can keep, or it says so and nothing has changed.

mod common;

use lookaside_server::{Config, FunctionConfig, Server, StartError};
use lookaside_shares::{Capacity, Measure, Rate, Refused};

/// A function that is committed so many RSA operations a second.
fn function(name: &str, rsa: u64) -> FunctionConfig {
    let committed = vec![Rate { measure: Measure::Rsa, per_s: rsa }];
    FunctionConfig { committed, ..FunctionConfig::new(name) }
}

#[test]
fn more_than_there_is_is_refused() {
    let folder = common::Folder::new();
    // 1,000 a second on each engine.
    let capacity = Some(Capacity::new(1).cost(Measure::Rsa, 1e6));
    let config = |functions| Config { capacity, ..common::config(&folder.0, functions) };
    let unknown = Config { capacity: None, ..config(vec![function("a", 1)]) };
    assert!(matches!(Server::start(&unknown), Err(StartError::Costs { name }) if name == "a"));
    let too_much = config(vec![function("a", 1), function("b", 5_000_000)]);
    let Err(StartError::Refused(Refused::TooMuch { name, .. })) = Server::start(&too_much) else {
        panic!("more than there is")
    };
    assert_eq!(name, "b");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "nothing is left behind");

    let server = Server::start(&config(vec![function("a", 100)])).unwrap();
    assert!(matches!(server.reload(&too_much), Err(StartError::Refused(_))));
    assert!(server.socket("a").is_some_and(|path| path.exists()) && server.socket("b").is_none());
    // Others may have what the first gives back.
    server.reload(&config(vec![function("b", 900)])).unwrap();
    assert!(server.socket("a").is_none() && server.socket("b").is_some());
}
