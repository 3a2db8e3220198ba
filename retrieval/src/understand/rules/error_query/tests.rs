//! What of error logs is searched for, and what is not.

use super::*;

fn kept(log: &str) -> String {
    error_query(log).text(1_000)
}

#[test]
fn of_a_log_the_messages_stay_and_places_go() {
    let table = [
        (
            "Traceback (most recent call last):\n  File \"/srv/me/train.py\", line 33, in <module>\n    context.set_context(enable_compile_cache=True)\nBrokenPipeError: [Errno 32] Broken pipe",
            "BrokenPipeError: [Errno 32] Broken pipe enable_compile_cache context.set_context",
        ),
        (
            "[ERROR] KERNEL(3062,ffffb8f4,python):2023-04-01-10:20:30.123.456 [mindspore/ccsrc/kernel/a.cc:123] Select] Kernel select failed for ReduceMean",
            "Kernel select failed for ReduceMean",
        ),
        (
            "ImportError: /usr/lib/libgomp.so.1: cannot allocate memory in static TLS block",
            "ImportError: libgomp.so.1: cannot allocate memory in static TLS block",
        ),
        (
            "TypeError: bad operand <nn.Cell object at 0x7f3a2b4c5d60>",
            "TypeError: bad operand <nn.Cell object",
        ),
        (
            "2023-04-01 10:20:30,123 - worker - ERROR - connection to scheduler refused",
            "connection to scheduler refused",
        ),
        (
            "E0401 10:20:30.123456 12345 rpc.cc:77] Connect timeout, errno 110",
            "Connect timeout, errno 110",
        ),
        ("C:\\Users\\me\\a.py:12: ValueError: x", "ValueError: x"),
        ("HRESULT failed: 0x80070005", "HRESULT failed: 0x80070005"),
        (
            "[   10.123456] BUG: kernel NULL pointer dereference, address: 0000000000000008",
            "BUG: kernel NULL pointer dereference, address",
        ),
        (
            "RuntimeError: Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline Error Message'.\n\n----\n- Dataset Pipeline Error Message:\n----\n[ERROR] The data pipeline is not a tree (i.e., one node has 2 consumers)\n\n----\n- C++ Call Stack: (For framework developers)\n----\nmindspore/ccsrc/minddata/dataset/engine/ir/datasetops/dataset_node.cc(130).",
            "The data pipeline is not a tree (i.e., one node has 2 consumers) RuntimeError: Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline Error Message'.",
        ),
        (
            "RuntimeError: Call rt api failed.\n\n- Ascend Error Message:\n----\nGetting socket times out.",
            "RuntimeError: Call rt api failed. Getting socket times out.",
        ),
        ("第 12 行 出错：形状不匹配", "第 行 出错：形状不匹配"),
    ];
    for (log, expected) in table {
        assert_eq!(kept(log), expected, "{log}");
    }
}

#[test]
fn a_log_of_places_alone_leaves_nothing() {
    for log in [
        "",
        "\n\n",
        "  File \"/srv/me/a.py\", line 3, in <module>",
        "/usr/lib/python3/site-packages/x.py:33",
        "#0 0x00007f1234567890 in ?? () from /lib/libc.so.6",
    ] {
        assert_eq!(error_query(log), ErrorQuery::default(), "{log:?}");
    }
}

#[test]
fn a_huge_log_is_read_from_its_end_and_stays_short() {
    let frame = "  File \"/a/b.py\", line 1, in f\n    ops.reduce_mean(x)\n";
    let mut log = frame.repeat(3_000);
    log.push_str("ValueError: For 'ReduceMean', axis is out of range");
    let query = error_query(&log);
    assert_eq!(
        query.errors,
        ["ValueError: For 'ReduceMean', axis is out of range"]
    );
    assert!(query.text(200).chars().count() <= 200);
    let long = format!("ValueError: {}", "界".repeat(100_000));
    assert!(error_query(&long).text(500).chars().count() <= 500);
}
