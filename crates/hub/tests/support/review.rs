//! Asks the validating webhook for pods as an API server does: at its address, over TLS, trusting what its configuration says.

use http::Request;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::{Client, Config};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};

/// What it answers about a pod that is created.
pub(crate) async fn ask(configuration: &ValidatingWebhookConfiguration, pod: Value) -> Value {
    let mut webhooks = configuration.webhooks.iter().flatten();
    let webhook = webhooks.find(|webhook| webhook.name == "validating-pod.apps.kusionstack.io").unwrap();
    let url = webhook.client_config.url.clone().unwrap();
    let bundle = webhook.client_config.ca_bundle.clone().unwrap().0;
    let roots = CertificateDer::pem_slice_iter(&bundle).map(|root| root.unwrap().to_vec()).collect();
    let (host, path) = url.strip_prefix("https://").unwrap().split_once('/').unwrap();
    let mut config = Config::new(format!("https://{host}").parse().unwrap());
    config.root_cert = Some(roots);
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "q", "operation": "CREATE", "object": pod, "oldObject": null}});
    let request = Request::post(format!("/{path}")).header("content-type", "application/json");
    let request = request.body(review.to_string().into_bytes()).unwrap();
    let answer: Value = Client::try_from(config).unwrap().request(request).await.unwrap();
    assert_eq!(answer["response"]["uid"], "q");
    answer["response"].clone()
}
