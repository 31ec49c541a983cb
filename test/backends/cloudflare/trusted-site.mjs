/** Starts an HTTPS server whose certificate is signed by an authority that nobody trusts, as the platform's interception. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const isFound = (program) => {
  try {
    execFileSync('which', [program], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export const canMakeCertificates = isFound('openssl')

/** Commands that request an address, by program. Only those that are here. */
export const clients = Object.entries({
  curl: (url) => `curl -sS ${url}`,
  python3: (url) => `python3 -c 'import urllib.request as r; print(r.urlopen("${url}").read().decode(), end="")'`,
  node: (url) => `node -e 'fetch("${url}").then((r) => r.text()).then((t) => process.stdout.write(t))'`,
  git: (url) => `git ls-remote ${url}/repo 2>&1 | grep -q 'not found' && echo -n trusted`,
}).filter(([program]) => isFound(program))

export async function startSite() {
  const folder = mkdtempSync(join(tmpdir(), 'talaria-site-'))
  const openssl = (...words) => execFileSync('openssl', words, { cwd: folder, stdio: 'ignore' })
  const key = ['-newkey', 'rsa:2048', '-nodes', '-days', '2']
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=Stand-in Containers CA')
  openssl('req', ...key.slice(0, 3), '-keyout', 'site.key', '-out', 'site.csr', '-subj', '/CN=localhost')
  writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost')
  openssl(
    'x509',
    '-req',
    '-in',
    'site.csr',
    '-CA',
    'ca.crt',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-days',
    '2',
    '-out',
    'site.crt',
    '-extfile',
    'names',
  )
  const read = (name) => readFileSync(join(folder, name), 'utf8')
  const server = createServer({ key: read('site.key'), cert: read('site.crt') }, (request, response) =>
    request.url === '/' ? response.end('trusted') : response.writeHead(404).end(),
  )
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://localhost:${server.address().port}`,
    authority: read('ca.crt'),
    close() {
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
