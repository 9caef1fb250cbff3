// Lets a form be sent with a passkey: data-passkey is "create" or "get", data-passkey-options the id of a JSON element
// with the server's options; without one they are fetched from the form's address.

/** @param {BufferSource} bytes */
function encoded(bytes) {
  const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes);
  return btoa(String.fromCharCode(...view)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {string} text */
function decoded(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
}

/** @param {any} list */
function withIds(list) {
  return (list ?? []).map((/** @type {any} */ each) => ({ ...each, id: decoded(each.id) }));
}

/** @param {any} options */
async function created(options) {
  const publicKey = {
    ...options,
    challenge: decoded(options.challenge),
    user: { ...options.user, id: decoded(options.user.id) },
    excludeCredentials: withIds(options.excludeCredentials),
    // One that signs in alone must name its person and ask for fingerprint, face or PIN.
    authenticatorSelection: {
      ...options.authenticatorSelection,
      residentKey: "required",
      requireResidentKey: true,
      userVerification: "required",
    },
  };
  const credential = /** @type {any} */ (await navigator.credentials.create({ publicKey }));
  return {
    ...head(credential),
    response: {
      clientDataJSON: encoded(credential.response.clientDataJSON),
      attestationObject: encoded(credential.response.attestationObject),
      transports: credential.response.getTransports?.() ?? [],
    },
  };
}

/** @param {any} options */
async function got(options) {
  const publicKey = {
    ...options,
    challenge: decoded(options.challenge),
    allowCredentials: withIds(options.allowCredentials),
  };
  const credential = /** @type {any} */ (await navigator.credentials.get({ publicKey }));
  const { userHandle } = credential.response;
  return {
    ...head(credential),
    response: {
      clientDataJSON: encoded(credential.response.clientDataJSON),
      authenticatorData: encoded(credential.response.authenticatorData),
      signature: encoded(credential.response.signature),
      userHandle: userHandle ? encoded(userHandle) : null,
    },
  };
}

/** @param {any} credential */
function head(credential) {
  return {
    type: credential.type,
    id: credential.id,
    rawId: encoded(credential.rawId),
    authenticatorAttachment: credential.authenticatorAttachment,
    clientExtensionResults: credential.getClientExtensionResults(),
  };
}

/** @param {HTMLFormElement} form */
async function optionsOf(form) {
  const element = document.getElementById(form.dataset.passkeyOptions ?? "");
  if (element) return JSON.parse(element.textContent ?? "");
  const response = await fetch(form.action, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error("The server sent no options.");
  return response.json();
}

/** @param {HTMLFormElement} form */
async function send(form) {
  const failed = form.querySelector("[data-passkey-failed]");
  try {
    const { creation_options: creation, request_options: request } = await optionsOf(form);
    const credential = creation ? await created(creation.publicKey) : await got(request.publicKey);
    const field = form.elements.namedItem("credential");
    if (field instanceof HTMLInputElement) field.value = JSON.stringify(credential);
    form.submit();
  } catch {
    // Cancelled, or the device has none: the person chooses what to do next.
    if (failed instanceof HTMLElement) failed.hidden = false;
  }
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (form instanceof HTMLFormElement) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void send(form);
    });
  }
}
