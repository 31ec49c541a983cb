// Prints what a person needs after the start: the address, the key, the model that answers and why, and a first request.

export async function announce(url, { key, quietKey, model }) {
  const { model: name, why } = (await findStoredDefault(url, key)) ?? model
  const shownKey = quietKey ? '$ADMIN_KEY' : key
  const content = name.startsWith('demo/') ? 'run: echo hello' : 'Say hello in three languages.'
  const body = JSON.stringify({ model: 'talaria', messages: [{ role: 'user', content }] })
  const link = quietKey ? undefined : await createLoginLink(url, key)
  const lines = [
    `Talaria is ready on ${url}`,
    // The link signs in as the owner, as the key does.
    ...(link ? [`open: ${link} (signs in once, within ten minutes)`] : []),
    ...(quietKey ? [] : [`key: ${key}`]),
    `model: ${name} (${why})`,
    `try: curl -s ${url}/v1/chat/completions -H "Authorization: Bearer ${shownKey}" -H "Content-Type: application/json" -d '${body}'`,
    `docs: ${url}/docs/, API reference: ${url}/docs`,
  ]
  console.log(lines.join('\n'))
}

/** The address of the page with a link that signs in once. Without ENCRYPTION_KEY there is none. */
export async function createLoginLink(url, key) {
  try {
    const answer = await fetch(`${url}/api/login/links`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
      signal: AbortSignal.timeout(5_000),
    })
    return (await answer.json()).url
  } catch {
    return undefined
  }
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
