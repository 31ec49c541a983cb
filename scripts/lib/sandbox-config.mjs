// Renders wrangler.toml with containers: another entry, the object that owns a container, its image and a bucket.

const apis = {
  sdk: { entry: 'with-sandbox', image: './sandbox/Dockerfile' },
  native: { entry: 'with-native-sandbox', image: './sandbox/native.Dockerfile' },
}

/** With `enable_containers` in the file, and not only as an argument, wrangler heeds DOCKER_HOST when it runs containers. */
const more = ({ image }, server) => `
[[durable_objects.bindings]]
name = "SANDBOX"
class_name = "SandboxBox"

[[migrations]]
tag = "sandbox-v1"
new_sqlite_classes = ["SandboxBox"]

[[containers]]
class_name = "SandboxBox"
image = "${image}"
instance_type = "basic"
max_instances = 20
${server ? `image_vars = { TALARIA_SERVER = "${server}" }\n` : ''}
[[r2_buckets]]
binding = "BACKUP_BUCKET"
bucket_name = "talaria-sandboxes"

[dev]
enable_containers = true
`

/**
 * `api`: the container API, `sdk` or `native`. `server` identifies a local server: it becomes a label of the image, so that
 * the images of two servers differ. wrangler removes all containers of an image when it stops.
 */
export function sandboxConfig(plain, { api = 'sdk', server } = {}) {
  if (!Object.hasOwn(apis, api)) throw new Error(`SANDBOX_CONTAINER_API is "${api}". It has to be sdk or native.`)
  const { entry } = apis[api]
  const lines = [
    ['main = "dist/worker/index.js"', `main = "dist/${entry}/index.js"`],
    ['command = "node scripts/build-worker.mjs"', `command = "node scripts/build-worker.mjs ${entry}"`],
  ]
  for (const [line] of lines) if (!plain.includes(line)) throw new Error(`wrangler.toml has no line ${line}`)
  if (/^\[dev\]/m.test(plain)) throw new Error('wrangler.toml has a [dev] section, which would be there twice')
  const vars = /^\[vars\]$/m.test(plain)
  const transport = 'SANDBOX_TRANSPORT = "rpc"'
  const text = lines.reduce((done, [line, other]) => done.replace(line, other), plain)
  const head = '# Written by scripts/dev-sandbox.mjs from wrangler.toml; changes belong there.\n'
  const body = vars ? text.replace(/^\[vars\]$/m, `[vars]\n${transport}`) : `${text}\n[vars]\n${transport}\n`
  return head + body + more(apis[api], server)
}

/** The entry of scripts/build-worker.mjs that a configuration serves. */
export function entryOf(config) {
  const folder = /^main = "dist\/([\w-]+)\/index\.js"$/m.exec(config)?.[1]
  return folder === 'worker' ? 'index' : folder
}
