//! Limits of the system that are too low for a run: the message names the limit and does not blame the server.

use std::net::TcpListener;
use std::process::Command;

#[test]
#[cfg(target_os = "linux")]
fn too_few_file_descriptors_are_not_the_fault_of_the_server() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    for limit in [8, 12, 16] {
        let script = format!("ulimit -n {limit}; exec \"$0\" run {url} --open 20/s -d 1s");
        let ended = Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_offered")]).output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("(raise `ulimit -n`)") && !stderr.contains("start the server"), "{stderr}");
    }
}
