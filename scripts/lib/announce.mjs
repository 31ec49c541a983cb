// Prints what a person needs after the start: the address, the key, the model that answers and why, and a first request.

export async function announce(url, { key, quietKey, model }) {
  const { model: name, why } = (await findStoredDefault(url, key)) ?? model
  const shownKey = quietKey ? '$ADMIN_KEY' : key
  const content = name.startsWith('demo/') ? 'run: echo hello' : 'Say hello in three languages.'
  const body = JSON.stringify({ model: 'talaria', messages: [{ role: 'user', content }] })
  const lines = [
    `Talaria is ready on ${url}`,
    ...(quietKey ? [] : [`key: ${key}`]),
    `model: ${name} (${why})`,
    `try: curl -s ${url}/v1/chat/completions -H "Authorization: Bearer ${shownKey}" -H "Content-Type: application/json" -d '${body}'`,
    `docs: ${url}/docs, clients: docs/clients.md`,
  ]
  console.log(lines.join('\n'))
}

/** The settings of the owner's tenant win over the variables. */
async function findStoredDefault(url, key) {
  try {
    const answer = await fetch(`${url}/api/settings`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(5_000),
    })
    const stored = (await answer.json()).model?.default
    return stored ? { model: stored, why: 'from model.default of the settings' } : undefined
  } catch {
    return undefined
  }
}
