//! What comes out is what went in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use safepoint_relay::{Body, empty, full};

use crate::support::{Authority, Client, Server, Version, WAYS, World, noise, pipe, soon};

/// Answers with what it was sent.
async fn echo(request: Request<Incoming>) -> Response<Body> {
    let mut response = Response::new(());
    for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING] {
        if let Some(value) = request.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response.map(|()| request.into_body().map_err(Into::into).boxed_unsync())
}

/// Sends pieces, and returns all that comes back.
async fn sent(client: &mut Client, kind: &str, pieces: Vec<bytes::Bytes>) -> Response<bytes::Bytes> {
    let (pipe, body) = pipe();
    let request = Request::post("/echo?a=%2F&b=c").header(header::CONTENT_TYPE, kind).body(body).unwrap();
    let writing = async {
        for piece in pieces {
            assert!(pipe.write(piece).await);
        }
        drop(pipe);
    };
    let reading = async {
        let response = client.send(request).await.unwrap();
        let (head, body) = response.into_parts();
        Response::from_parts(head, body.collect().await.unwrap().to_bytes())
    };
    soon(async { tokio::join!(writing, reading).1 }).await
}

#[tokio::test]
async fn bodies_of_any_shape_pass_both_ways_as_they_are() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let server = Server::start(&authority, far, echo).await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut client = world.client(near).await;
        let one_by_one = noise(1, 300).chunks(1).map(bytes::Bytes::copy_from_slice).collect();
        let shapes: Vec<Vec<bytes::Bytes>> = vec![
            vec![],
            vec![noise(2, 1)],
            vec![bytes::Bytes::from_static(b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList")],
            one_by_one,
            vec![noise(3, 16_384), noise(4, 16_385), noise(5, 1), noise(6, 100_000)],
            (0..50).map(|seed| noise(seed, 40_000)).collect(),
        ];
        for pieces in shapes {
            let whole: Vec<u8> = pieces.iter().flatten().copied().collect();
            let answer = sent(&mut client, "application/vnd.kubernetes.protobuf", pieces).await;
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/vnd.kubernetes.protobuf");
            assert!(answer.body() == &whole, "{near:?} to {far:?}: {} bytes differ", whole.len());
        }
        assert!(server.asked().iter().all(|asked| asked.uri.path_and_query().unwrap() == "/echo?a=%2F&b=c"));
    }
}

#[tokio::test]
async fn what_the_server_compressed_stays_compressed() {
    // Two gzip members, each a stored block, as a server sends them when it flushes in between.
    const MEMBERS: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x03\0\xfc\xffabc\xc2\x41\x24\x35\x03\0\0\0\
                             \x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x03\0\xfc\xffabc\xc2\x41\x24\x35\x03\0\0\0";
    for (near, far) in WAYS {
        let authority = Authority::new();
        let server = Server::start(&authority, far, |request: Request<Incoming>| async move {
            assert_eq!(request.headers()[header::ACCEPT_ENCODING], "gzip");
            let mut response = Response::new(full(MEMBERS));
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        })
        .await;
        let world = World::new(&authority, &[server.uri()]).await;
        let request = Request::get("/").header(header::ACCEPT_ENCODING, "gzip").body(empty()).unwrap();
        let response = soon(world.client(near).await.send(request)).await.unwrap();
        assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
        assert_eq!(response.headers()[header::CONTENT_LENGTH], MEMBERS.len().to_string());
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), MEMBERS);
    }
}

#[tokio::test]
async fn headers_keep_their_order_and_their_repetitions_both_ways() {
    const THEIRS: [(&str, &str); 6] = [
        ("content-type", "application/json"),
        ("warning", "299 - \"first\""),
        ("warning", "299 - \"second\""),
        ("x-kubernetes-pf-flowschema-uid", "3"),
        ("audit-id", "1"),
        ("cache-control", "no-cache, private"),
    ];
    const OURS: [(&str, &str); 5] = [
        ("accept", "application/vnd.kubernetes.protobuf,application/json"),
        ("user-agent", "kubelet/v1.36.4 (linux/amd64) kubernetes/abc"),
        ("x-twice", "b"),
        ("x-twice", "a"),
        ("accept-encoding", "gzip"),
    ];
    fn pairs<'a>(headers: &'a HeaderMap, among: &[(&str, &str)]) -> Vec<(&'a str, &'a str)> {
        let is_ours = |name: &HeaderName| among.iter().any(|(ours, _)| name == ours);
        let text =
            |(name, value): (&'a HeaderName, &'a HeaderValue)| (name.as_str(), value.to_str().unwrap());
        headers.iter().filter(|(name, _)| is_ours(name)).map(text).collect()
    }
    for (near, far) in WAYS {
        let authority = Authority::new();
        let server = Server::start(&authority, far, |_| async {
            let mut response = Response::new(full("{}"));
            for (name, value) in THEIRS {
                response.headers_mut().append(name, HeaderValue::from_static(value));
            }
            response.headers_mut().insert("x-hop", HeaderValue::from_static("1"));
            if response.version() == http::Version::HTTP_11 {
                response.headers_mut().insert("keep-alive", HeaderValue::from_static("timeout=5"));
            }
            response
        })
        .await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut request = Request::get("/api/v1/pods").body(empty()).unwrap();
        for (name, value) in OURS {
            request.headers_mut().append(name, HeaderValue::from_static(value));
        }
        if near == Version::One {
            request.headers_mut().append("connection", HeaderValue::from_static("x-private"));
            request.headers_mut().append("x-private", HeaderValue::from_static("1"));
        }
        let response = soon(world.client(near).await.send(request)).await.unwrap();
        assert_eq!(pairs(response.headers(), &THEIRS), THEIRS, "{near:?} to {far:?}");
        assert!(!response.headers().contains_key("keep-alive"));
        let asked = &server.asked()[0];
        assert_eq!(pairs(&asked.headers, &OURS), OURS, "{near:?} to {far:?}");
        assert!(!asked.headers.contains_key("x-private"));
        assert!(!asked.headers.contains_key("connection"));
        let (expected, host) = match far {
            Version::One => (http::Version::HTTP_11, asked.headers[header::HOST].to_str().unwrap()),
            Version::Two => (http::Version::HTTP_2, asked.uri.authority().unwrap().as_str()),
        };
        assert_eq!(asked.version, expected);
        assert_eq!(host, server.address.to_string(), "the server is called by its own name");
    }
}

#[tokio::test]
async fn trailers_pass_both_ways() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let server = Server::start(&authority, far, |request: Request<Incoming>| async move {
            let sent = request.into_body().collect().await.unwrap();
            let sum = sent.trailers().and_then(|trailers| trailers.get("x-sum")).cloned();
            let (pipe, body) = pipe();
            let mut trailers = HeaderMap::new();
            trailers.insert("x-sum", sum.unwrap_or_else(|| HeaderValue::from_static("none came")));
            let rest = async move {
                pipe.write("data").await;
                pipe.trailers(trailers).await;
            };
            let mut response = Response::new(with(body, rest));
            response.headers_mut().insert(header::TRAILER, HeaderValue::from_static("x-sum"));
            response
        })
        .await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut client = world.client(near).await;
        let (pipe, body) = pipe();
        let request = Request::post("/")
            .header(header::TE, "trailers")
            .header(header::TRAILER, "x-sum")
            .body(body)
            .unwrap();
        let writing = async {
            pipe.write("data").await;
            let mut trailers = HeaderMap::new();
            trailers.insert("x-sum", HeaderValue::from_static("42"));
            pipe.trailers(trailers).await;
            drop(pipe);
        };
        let (response, ()) = soon(async { tokio::join!(client.send(request), writing) }).await;
        let collected = soon(response.unwrap().into_body().collect()).await.unwrap();
        assert_eq!(collected.trailers().expect("trailers come")["x-sum"], "42", "{near:?} to {far:?}");
        assert_eq!(collected.to_bytes(), "data");
    }
}

/// A body that is written while it is read.
fn with(body: Body, writing: impl Future<Output = ()> + Send + 'static) -> Body {
    use futures::StreamExt;
    let nothing = futures::stream::once(writing).filter_map(|()| async { None });
    let frames = futures::stream::select(nothing, http_body_util::BodyStream::new(body));
    http_body_util::StreamBody::new(frames).boxed_unsync()
}

#[tokio::test]
async fn answers_without_a_body_have_none() {
    for (near, far) in WAYS {
        let authority = Authority::new();
        let server = Server::start(&authority, far, |request: Request<Incoming>| async move {
            let code: u16 = request.uri().path()[1..].parse().unwrap();
            let mut response = Response::new(empty());
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            if *request.method() == Method::HEAD {
                response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("17"));
            }
            response
        })
        .await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut client = world.client(near).await;
        for code in ["200", "204", "304", "404", "429", "504"] {
            let response = soon(client.get(&format!("/{code}"))).await.unwrap();
            assert_eq!(response.status().as_str(), code);
            assert!(soon(response.into_body().collect()).await.unwrap().to_bytes().is_empty());
        }
        let head = Request::head("/200").body(empty()).unwrap();
        let response = soon(client.send(head)).await.unwrap();
        assert_eq!(response.headers()[header::CONTENT_LENGTH], "17", "{near:?} to {far:?}");
        assert!(soon(response.into_body().collect()).await.unwrap().to_bytes().is_empty());
        let delete = Request::delete("/200").body(empty()).unwrap();
        assert_eq!(soon(client.send(delete)).await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn a_path_before_that_of_the_api_is_kept() {
    let authority = Authority::new();
    let server = Server::start(&authority, Version::Two, |_| async { Response::new(empty()) }).await;
    let world = World::new(&authority, &[format!("{}/clusters/one/", server.uri())]).await;
    world.until_reached().await;
    soon(world.client(Version::Two).await.get("/api/v1/nodes?watch=true")).await.unwrap();
    assert_eq!(server.asked()[0].uri.path_and_query().unwrap(), "/clusters/one/api/v1/nodes?watch=true");
}

#[tokio::test]
async fn sixty_four_mebibytes_pass_and_wait_where_they_are_while_nobody_reads() {
    const PIECE: usize = 256 << 10;
    const PIECES: usize = 256;
    let base = noise(1, PIECE + PIECES);
    for (near, far) in WAYS {
        let authority = Authority::new();
        let written = Arc::new(AtomicUsize::new(0));
        let (count, pieces) = (Arc::clone(&written), base.clone());
        let server = Server::start(&authority, far, move |_| {
            let (count, pieces) = (Arc::clone(&count), pieces.clone());
            async move {
                let (pipe, body) = pipe();
                let writing = async move {
                    for number in 0..PIECES {
                        count.fetch_add(PIECE, Ordering::SeqCst);
                        if !pipe.write(pieces.slice(number..number + PIECE)).await {
                            return;
                        }
                    }
                };
                Response::new(with(body, writing))
            }
        })
        .await;
        let world = World::new(&authority, &[server.uri()]).await;
        let mut client = world.client(near).await;
        let mut body = soon(client.get("/")).await.unwrap().into_body();
        // The system's buffers are none of ours, and there are up to eight of some MiB. HTTP/2 does not fill them; there
        // it is our client that allows two MiB.
        let most = if (near, far) == (Version::Two, Version::Two) { 4 << 20 } else { 40 << 20 };
        let mut read = 0;
        while let Some(frame) = soon(body.frame()).await {
            let mut data = frame.unwrap().into_data().unwrap();
            while !data.is_empty() {
                let (number, offset) = (read / PIECE, read % PIECE);
                let part = data.split_to(data.len().min(PIECE - offset));
                assert!(part == base[number + offset..][..part.len()]);
                read += part.len();
            }
            // A reader that is slower than everybody else: whatever takes in more than it gets rid of would show.
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            let between = written.load(Ordering::SeqCst) - read;
            assert!(between < most, "{near:?} to {far:?}: {between} bytes are somewhere");
        }
        assert_eq!(read, PIECE * PIECES);
    }
}
