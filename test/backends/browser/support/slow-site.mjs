/** A local web site whose pages load more, slowly or without an end. */

import { once } from 'node:events'
import { createServer } from 'node:http'

export const slowMs = 3_000
const pages = {
  '/endless': `<h1>List</h1><div id=list style="height:1500px">start</div><div id=end>end</div><script>
    let n = 0
    new IntersectionObserver(async ([entry]) => {
      if (!entry.isIntersecting) return
      const text = await (await fetch('/items?from=' + n)).text()
      for (const name of text.split(',')) { const row = document.createElement('h2'); row.style.height = '400px'; row.textContent = name; end.before(row); n++ }
    }).observe(document.getElementById('end'))</script>`,
  '/scrolled': `<h1>Scroll</h1><p id=seen>0</p><div style="height:5000px"></div><script>
    let late; addEventListener('scroll', () => { clearTimeout(late); late = setTimeout(async () => {
      const row = document.createElement('h2'); row.textContent = await (await fetch('/items?from=7')).text(); document.body.append(row) }, 250) })</script>`,
  '/lazy': `<div style="height:4000px"></div><img id=late loading=lazy src="/picture.svg" width=50 height=50 alt="Late picture">`,
  '/slow-click': `<button onclick="fetch('/slow').then((r)=>r.text()).then((t)=>{const h=document.createElement('h2');h.textContent=t;document.body.append(h)})">Load</button>`,
  '/typeahead': `<input aria-label="Find" oninput="clearTimeout(this.t);this.t=setTimeout(()=>fetch('/items?from=3').then((r)=>r.text()).then((t)=>{const h=document.createElement('h2');h.textContent=t;document.body.append(h)}),300)">`,
  '/spa': `<a href="/spa/next" onclick="event.preventDefault();history.pushState({},'',this.href);fetch('/slow?ms=700').then((r)=>r.text()).then((t)=>{document.title='Next';document.body.innerHTML='<h1>'+t+'</h1>'})">Next</a>`,
  '/scripts': `<h1 id=h>before</h1><script src="/slow-script.js"></script><script>const s=document.createElement('script');s.src='/later.js';document.head.append(s)</script>`,
  '/late-fetch': `<h1>Shell</h1><script>addEventListener('load',()=>setTimeout(()=>fetch('/slow?ms=900').then((r)=>r.text()).then((t)=>{document.querySelector('h1').textContent=t}),50))</script>`,
  '/open-ends': `<h1>Open</h1><button onclick="document.title='clicked'">Go</button><script>new EventSource('/events');fetch('/events');new WebSocket('ws://'+location.host+'/socket');setInterval(()=>{document.querySelector('h1').textContent='Open '+Date.now()},50)</script>`,
  '/long-poll': `<h1>Poll</h1><script>fetch('/never')</script>`,
  '/no-picture': `<h1>Pictures</h1><img src="/never.png"><script>document.title='ran'</script>`,
  '/leaving': `<button onclick="setTimeout(()=>{location='/arrived'},100)">Leave</button>`,
  '/arrived': `<h1>x</h1><script src="/later.js"></script>`,
  '/outlasting': `<button onclick="fetch('/slow?ms=11000').then((r)=>r.text()).then((t)=>{document.title=t},(e)=>{document.title='lost '+e})">Long</button>`,
  '/to-error': `<a href="/status/403">Forbidden</a>`,
  '/still': '<h1>Still</h1><input aria-label="A"><input aria-label="B">',
}

function answer(url, response) {
  const { pathname, searchParams } = url
  const send = (body, type = 'text/html; charset=utf-8', status = 200) =>
    response.writeHead(status, { 'content-type': type }).end(body)
  const [, status] = /^\/status\/(\d+)$/.exec(pathname) ?? []
  if (status !== undefined)
    send('<title>Refused</title><h1>Go away</h1><a href="/still">Home</a>', 'text/html', Number(status))
  else if (pathname === '/redirect') response.writeHead(302, { location: '/arrived' }).end()
  else if (pathname === '/slow')
    setTimeout(() => send('slow answer', 'text/plain'), Number(searchParams.get('ms') ?? slowMs))
  else if (pathname === '/slow-script.js')
    setTimeout(() => send("h.textContent='from script'", 'text/javascript'), 1_500)
  else if (pathname === '/later.js')
    setTimeout(() => send("document.querySelector('h1').textContent+=' and later'", 'text/javascript'), 600)
  else if (pathname === '/items') {
    const from = Number(searchParams.get('from'))
    setTimeout(() => send([0, 1, 2, 3].map((n) => `Item ${from + n}`).join(), 'text/plain'), 300)
  } else if (pathname === '/events')
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  else if (pathname === '/picture.svg')
    setTimeout(() => send('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', 'image/svg+xml'), 500)
  else if (!pathname.startsWith('/never')) send(pages[pathname] ?? 'nothing', 'text/html', pages[pathname] ? 200 : 404)
}

export async function startSlowSite() {
  const server = createServer((request, response) => answer(new URL(request.url ?? '/', 'http://localhost'), response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    base: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
