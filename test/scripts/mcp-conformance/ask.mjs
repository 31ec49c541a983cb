// The program that the conformance suite starts for each scenario: has the client of the test process play it, because
// starting that client anew for each one would take as long as all scenarios. The last argument is the address of the
// server, the one before it that of the test process.
const [address = '', url = ''] = process.argv.slice(-2)
const { MCP_CONFORMANCE_SCENARIO: name, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env
const response = await fetch(address, { method: 'POST', body: JSON.stringify({ name, url, context }) })
if (!response.ok) console.error(await response.text())
process.exitCode = response.ok ? 0 : 1
