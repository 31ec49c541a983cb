/** The HTML of `/docs`: shows the OpenAPI document and loads nothing from other hosts. */

export const docsPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Talaria API</title>
<style>
:root { color-scheme: light dark; --line: #8884; --soft: #8881 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0 } summary { padding: .5rem .8rem; cursor: pointer }
code, pre { font: 13px/1.45 ui-monospace, monospace } pre { overflow: auto; background: var(--soft); padding: .8rem; border-radius: 6px }
.in { padding: 0 .8rem .8rem } .method { display: inline-block; width: 4.5rem; font-weight: 700; text-transform: uppercase }
</style></head><body>
<h1>Talaria API</h1>
<p>The document behind this page: <a href="/openapi.json">/openapi.json</a>. Send your key as <code>Authorization: Bearer KEY</code>.</p>
<div id="routes">Loading…</div>
<script>
const element = (tag, text, ...children) => {
  const node = document.createElement(tag)
  if (text) node.textContent = text
  node.append(...children)
  return node
}
const schemaBlock = (title, content) => {
  const schema = content && Object.values(content)[0]?.schema
  return schema ? [element('h4', title), element('pre', JSON.stringify(schema, null, 2))] : []
}
fetch('/openapi.json').then((answer) => answer.json()).then(({ paths }) => {
  const groups = new Map()
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods)) {
      const name = element('span', method); name.className = 'method'
      const summary = element('summary', '', name, element('code', path), element('span', '  ' + operation.summary))
      const body = element('div', operation.description); body.className = 'in'
      for (const { name, in: where, required, schema } of operation.parameters)
        body.append(element('p', where + ' ' + name + (required ? ' (required)' : '') + ': ' + JSON.stringify(schema)))
      body.append(...schemaBlock('Request', operation.requestBody?.content))
      for (const [status, answer] of Object.entries(operation.responses))
        body.append(element('h4', status + ' ' + answer.description), ...schemaBlock('', answer.content).slice(1))
      const tag = operation.tags[0]
      groups.set(tag, [...(groups.get(tag) ?? []), element('details', '', summary, body)])
    }
  const root = document.getElementById('routes')
  root.textContent = ''
  for (const [tag, rows] of groups) root.append(element('h2', tag), ...rows)
})
</script></body></html>`
