/** A local web site with the pages that the tests of the browser visit, and a guard that maps a public name to it. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'

export const host = 'site.example.com'
export const address = (path) => `http://${host}${path}`

const page = (title, body) => `<!doctype html><title>${title}</title>${body}`

const pages = {
  '/': page(
    'Start',
    `<h1>Welcome</h1><p>Some text of the page.</p><a href="/second">Second page</a>
     <a href="/second" target="_blank">In a new window</a><button onclick="window.open('/popup')">Open window</button>
     <button id="count" onclick="this.textContent='Clicked '+(this.n=(this.n||0)+1)">Count</button>
     <div id="fake" onclick="document.title='Div clicked'">A clickable div</div>
     <button disabled>Not now</button>
     <a href="http://127.0.0.1:9/secret">Private</a><a href="/file.zip">Archive</a>
     <button onclick="setTimeout(()=>{},0);location.hash='there'">Jump</button>`,
  ),
  '/second': page('Second', '<h1>Second page</h1><p>More.</p>'),
  '/form': page(
    'Form',
    `<form action="/sent"><label>Name <input name="name"></label><label>Secret <input type="password" name="secret" value="hunter22"></label>
     <label>Colour <select name="colour"><option value="r">Red</option><option value="g">Green</option></select></label>
     <label><input type="checkbox" name="agree" value="yes"> Agree</label><label>Day <input type="date" name="day"></label>
     <textarea aria-label="Notes">old</textarea><div contenteditable aria-label="Rich" role="textbox">rich</div>
     <button>Send</button></form>`,
  ),
  '/dialogs': page(
    'Dialogs',
    `<button onclick="alert('Beware');document.title='after alert'">Alert</button>
     <button onclick="document.title=confirm('Delete all?')?'deleted':'kept'">Delete</button>
     <button onclick="document.title='name '+prompt('Who?')">Ask</button>`,
  ),
  '/console': page(
    'Console',
    `<script>console.log('hello',{a:1});console.error('bad thing');setTimeout(()=>{throw new Error('late failure')},0)</script><p>x`,
  ),
  '/apart': page(
    'Apart',
    '<iframe title="In its own process" sandbox="allow-scripts" srcdoc="<button>Inside</button>"></iframe>',
  ),
  '/frames': page(
    'Frames',
    '<h1>Outer</h1><iframe src="/inner" title="Inner frame" width=400 height=200></iframe><p>after',
  ),
  '/inner': page(
    'Inner',
    `<button onclick="this.textContent='Pressed inside'">Inside</button><iframe src="/innermost" title="Deep"></iframe>`,
  ),
  '/innermost': page('Innermost', `<input aria-label="Deep field">`),
  '/large': page(
    'Large',
    `<h1>Many</h1>${Array.from({ length: 20_000 }, (_, n) => `<a href="/item/${n}">Item ${n}</a>\n`).join('')}`,
  ),
  '/nested': page('Nested', `${'<div>'.repeat(3_000)}<button>Deep down</button>`),
  '/images': page(
    'Images',
    '<img src="/pixel.svg" alt="A pixel" width=5 height=5><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt="Inline">',
  ),
  '/long': page(
    'Long',
    `<h1>Long</h1>${Array.from({ length: 1_500 }, (_, n) => `<p>Paragraph ${n} of the long page.</p>`).join('')}<a href="/">Home</a>`,
  ),
  '/covered': page(
    'Covered',
    `<button onclick="document.title='reached'">Below</button><div id="banner" style="position:fixed;inset:0;background:#ccc"><button onclick="this.parentNode.remove()">Accept</button></div>`,
  ),
  '/private-frame': page(
    'Private frame',
    '<h1>Outside</h1><iframe src="http://169.254.169.254/latest/meta-data" title="Meta"></iframe>',
  ),
  '/meta-refresh': page('Refresh', '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/x"><p>going'),
  '/leaves-later': page('Leaves', `<p>soon</p><script>setTimeout(()=>{location='http://10.0.0.1/'},30)</script>`),
  '/permissions': page(
    'Permissions',
    `<script>navigator.permissions.query({name:'geolocation'}).then(({state})=>{document.title='geolocation '+state})</script>`,
  ),
  '/private-fetch': page(
    'Private fetch',
    `<script>fetch('http://127.0.0.1:9/x').then(()=>{document.title='reached'},()=>{document.title='refused'})</script><img src="http://192.168.0.1/x.png">`,
  ),
  '/freezes': page(
    'Freezes',
    '<script>window.frozen=0;document.addEventListener("freeze",()=>window.frozen++)</script>',
  ),
  '/invisible': page(
    'Ti\u200Btle',
    `<img src="data:," alt="al\u200Bt"><script>console.log('me\u200Bssage')</script><button onclick="alert('al\u200Bert')">Alert</button>`,
  ),
  '/login': page('Sign in', '<label>Password <input type="password"></label>'),
  '/cookies': page('Cookies', '<script>document.title="cookies "+document.cookie;document.cookie="seen=1"</script>'),
}

export async function startSite() {
  const asked = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    asked.push(pathname)
    if (pathname === '/to') return response.writeHead(302, { location: searchParams.get('url') ?? '' }).end()
    const given = (searchParams.get('url') ?? '').replaceAll('"', '&quot;')
    if (pathname === '/refresh-to')
      return response
        .writeHead(200, html)
        .end(page('Refresh', `<meta http-equiv="refresh" content="0;url=${given}"><p>going`))
    if (pathname === '/frame-to')
      return response.writeHead(200, html).end(page('Frame', `<h1>Outside</h1><iframe src="${given}"></iframe>`))
    if (pathname === '/file.zip')
      return response
        .writeHead(200, { 'content-type': 'application/zip', 'content-disposition': 'attachment' })
        .end('PK')
    if (pathname === '/sent') return response.writeHead(200, html).end(page('Sent', `<pre>${request.url ?? ''}</pre>`))
    if (pathname === '/nothing') return response.writeHead(204).end()
    const found = pages[pathname]
    return response.writeHead(found === undefined ? 404 : 200, html).end(found ?? page('Missing', 'nothing here'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  const network = {
    check: async (url) => checkPublicAddress(url),
    mappedHosts: [host],
    fetch: ({ url, method, headers, body }) => {
      const { pathname, search } = new URL(url)
      return fetch(`http://127.0.0.1:${port}${pathname}${search}`, {
        method,
        headers,
        redirect: 'manual',
        ...(body !== undefined && { body }),
      })
    },
  }
  return {
    port,
    asked,
    network,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const html = { 'content-type': 'text/html; charset=utf-8' }
