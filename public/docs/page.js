// Starts the reference component of /docs with settings that keep everything on this origin: no fonts, no telemetry, no
// proxy, no assistant. The key stays in the memory of the page.
const plain = document.getElementById('plain')
const script = document.createElement('script')
script.src = '/docs/reference.js'
script.onload = () => {
  plain.remove()
  globalThis.Scalar.createApiReference('#reference', {
    url: '/openapi.json',
    authentication: { preferredSecurityScheme: 'key' },
    persistAuth: false,
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: 'never',
    hideClientButton: true,
    metaData: { title: 'Talaria API' },
  })
}
// The list of routes is on the page already.
script.onerror = () => {
  document.getElementById('state').textContent = 'The reference could not be loaded. This is the list of routes.'
}
document.head.append(script)
