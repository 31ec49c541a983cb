// Renders wrangler.toml with containers: another entry, the object that owns a container, its image and a bucket.

const more = `
[[durable_objects.bindings]]
name = "SANDBOX"
class_name = "SandboxBox"

[[migrations]]
tag = "sandbox-v1"
new_sqlite_classes = ["SandboxBox"]

[[containers]]
class_name = "SandboxBox"
image = "./sandbox/Dockerfile"
instance_type = "basic"
max_instances = 20

[[r2_buckets]]
binding = "BACKUP_BUCKET"
bucket_name = "talaria-sandboxes"

[dev]
enable_containers = false
`

export function sandboxConfig(plain) {
  const lines = [
    ['main = "dist/worker/index.js"', 'main = "dist/with-sandbox/index.js"'],
    ['command = "node scripts/build-worker.mjs"', 'command = "node scripts/build-worker.mjs with-sandbox"'],
  ]
  for (const [line] of lines) if (!plain.includes(line)) throw new Error(`wrangler.toml has no line ${line}`)
  if (/^\[dev\]/m.test(plain)) throw new Error('wrangler.toml has a [dev] section, which would be there twice')
  const vars = /^\[vars\]$/m.test(plain)
  const transport = 'SANDBOX_TRANSPORT = "rpc"'
  const text = lines.reduce((done, [line, other]) => done.replace(line, other), plain)
  const head = '# Written by scripts/dev-sandbox.mjs from wrangler.toml; changes belong there.\n'
  return head + (vars ? text.replace(/^\[vars\]$/m, `[vars]\n${transport}`) : `${text}\n[vars]\n${transport}\n`) + more
}
