/** Tests in Chromium the screens of secrets, tools, plugins, skills of other places, fixes, trees, sign-ins, keys and hosts. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { findViolations, leave, openScreen, signIn } from './support/page.ts'
import { root } from './support/server.ts'

const rates = readFileSync(join(root, 'examples/plugins/rates.js'), 'utf8')

describe.skipIf(chromium === undefined)('the screens of what the API has', () => {
  let browser: Browser
  let client: Client
  let page: Page
  const settings = async () => (await client.get('/api/settings')).json

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
    page = await signIn(browser, client, { locale: 'en-US' })
  })
  afterAll(async () => {
    await leave(page)
    await browser?.close()
  })

  it('keeps a secret, gives it to commands, and takes it back', async () => {
    await openScreen(page, 'secrets')
    const form = page.getByRole('form', { name: 'Add or replace a secret' })
    await form.getByLabel('Name').fill('path')
    await form.getByLabel('Value').fill('a-secret-value-9f3a')
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByRole('alert').waitFor()
    await form.getByLabel('Name').fill('DEPLOY_TOKEN')
    await form.getByRole('button', { name: 'Save' }).click()
    const card = page.locator('li.card', { hasText: 'DEPLOY_TOKEN' })
    await card.getByText('…9f3a').waitFor()
    expect(await page.content()).not.toContain('a-secret-value')
    const grant = card.getByRole('switch', { name: 'Commands get DEPLOY_TOKEN' })
    expect(await grant.getAttribute('aria-checked')).toBe('false')
    await grant.focus()
    await page.keyboard.press('Space')
    await expect.poll(() => grant.getAttribute('aria-checked')).toBe('true')
    expect((await settings()).terminal.secrets).toEqual(['DEPLOY_TOKEN'])
    await card.getByRole('button', { name: 'Delete: DEPLOY_TOKEN' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No secrets yet.').waitFor()
    expect((await settings()).terminal?.secrets).toBeUndefined()
  })

  it('keeps a login in the vault, says for which site, and shows no value', async () => {
    await openScreen(page, 'secrets')
    const form = page.getByRole('form', { name: 'Add or replace a login or address' })
    await form.getByLabel('Name', { exact: true }).fill('shop')
    await form.getByLabel(/^Site/).fill('http://shop.example.com')
    await form.getByLabel('Password').fill('correct-horse-7')
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByRole('alert').waitFor()
    await form.getByLabel(/^Site/).fill('https://shop.example.com/')
    await form.getByRole('button', { name: 'Save' }).click()
    const card = page.locator('li.card', { hasText: 'https://shop.example.com' })
    const unasked = card.getByRole('switch', { name: 'Fill in shop at https://shop.example.com without asking' })
    expect(await unasked.getAttribute('aria-checked')).toBe('false')
    expect(await form.getByLabel('Password').inputValue()).toBe('')
    expect(await page.content()).not.toContain('correct-horse')
    await unasked.click()
    await expect.poll(() => unasked.getAttribute('aria-checked')).toBe('true')
    const { json } = await client.get('/api/vault')
    expect(json.data).toMatchObject([
      { name: 'shop', fields: ['password'], unasked_origins: ['https://shop.example.com'] },
    ])
    expect(JSON.stringify(json)).not.toContain('correct-horse')
    await card.getByRole('button', { name: 'Delete: shop' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Nothing in the vault yet.').waitFor()
  })

  itInTurn('remembers, restores an earlier version, and forgets for good after showing what goes', async () => {
    await openScreen(page, 'memory')
    const facts = page.getByRole('region', { name: 'Facts' })
    const entries = () =>
      facts.locator('li.card > span').evaluateAll((all) => all.map((one) => one.firstChild?.textContent))
    for (const fact of ['Ann lives in Graz.', 'Tea at four.']) {
      await facts.getByLabel('New entry').fill(fact)
      await facts.getByRole('button', { name: 'Add' }).click()
      await facts.getByText(fact).waitFor()
    }
    expect(await facts.getByLabel('New entry').inputValue()).toBe('')
    await facts.getByText('by a person').first().waitFor()
    await page.getByText('Earlier versions').first().click()
    await page.getByRole('button', { name: 'Restore' }).click()
    await expect.poll(entries).toEqual(['Ann lives in Graz.'])
    const forget = page.getByRole('region', { name: 'Forget' })
    await forget.getByRole('textbox').fill('nobody')
    await forget.getByRole('button', { name: 'Forget' }).click()
    await page.getByText('Nothing that is kept has these words.').waitFor()
    await forget.getByRole('textbox').fill('graz')
    await forget.getByRole('button', { name: 'Forget' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('– Ann lives in Graz.').waitFor()
    await dialog.getByRole('button', { name: 'Forget' }).click()
    await expect.poll(entries).toEqual([])
    await expect.poll(() => forget.getByRole('textbox').inputValue()).toBe('')
    const { json } = await client.get('/api/memory/versions?target=memory')
    expect(JSON.stringify(json)).not.toContain('Graz')
  })

  itInTurn('keeps facts of a project on its screen, with their versions', async () => {
    const { json: project } = await client.post('/api/projects', { name: 'Trips' })
    const { id } = project as { id: string }
    await openScreen(page, `projects/${id}`)
    const facts = page.getByRole('region', { name: 'Memory' })
    for (const fact of ['The villa has six beds.', 'It has a pool.']) {
      await facts.getByLabel('New entry').fill(fact)
      await facts.getByRole('button', { name: 'Add' }).click()
      await facts.getByText(fact).waitFor()
    }
    await page.getByText('Earlier versions').click()
    await page.getByRole('button', { name: 'Restore' }).click()
    await facts.getByText('It has a pool.').waitFor({ state: 'detached' })
    const { json } = await client.get(`/api/memory?project=${id}`)
    expect(json).toMatchObject({ memory: { entries: [] }, project: { entries: ['The villa has six beds.'] } })
  })

  itInTurn('switches toolsets and tools, and says where they come from', async () => {
    await openScreen(page, 'tools')
    const isAvailable = async (name: string) =>
      (await client.get('/api/tools?limit=1000')).json.data.find((one: { name: string }) => one.name === name).available
    const web = page.getByRole('switch', { name: 'Toolset Web', exact: true })
    await web.click()
    await expect.poll(() => web.getAttribute('aria-checked')).toBe('false')
    expect((await settings()).toolsets).toEqual({ disabled: ['web'] })
    expect(await isAvailable('web_search')).toBe(false)
    await page.getByRole('switch', { name: 'Tool web_search' }).click()
    await expect.poll(() => web.getAttribute('aria-checked')).toBe('true')
    expect((await settings()).toolsets).toEqual({ disabled: ['web_extract'] })
    await page.getByRole('switch', { name: 'Tool web_extract' }).click()
    await expect.poll(async () => (await settings()).toolsets?.disabled).toBeUndefined()
    expect(await page.getByRole('switch', { name: 'Toolset Films' }).isDisabled()).toBe(true)
    await page.getByText('MCP servers and plugins bring more tools.').waitFor()
  })

  it('approves a plugin after what it asks for, switches it off, and shows its log', async () => {
    await openScreen(page, 'plugins')
    const form = page.getByRole('form', { name: 'Add a plugin' })
    await form.getByLabel('Name').fill('rates')
    await form.getByLabel('Code').fill(rates)
    await form.getByLabel('Hosts').fill('api.frankfurter.dev')
    await form.getByLabel('A store of its own').check()
    await form.getByRole('button', { name: 'Add' }).click()
    await page.getByText('Its code and grants wait for approval.').waitFor()
    expect(await page.getByRole('switch').count()).toBe(0)
    await page.getByRole('button', { name: 'Approve: rates' }).click()
    const dialog = page.getByRole('dialog', { name: 'Let rates run?' })
    await dialog.getByText('Requests to api.frankfurter.dev').waitFor()
    await dialog.getByText('a store of its own, of 1 MB').waitFor()
    await dialog.getByText('exchange_rate').first().waitFor()
    await dialog.getByText('calls that have ended').waitFor()
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await page.locator('.badge.good', { hasText: 'Active' }).waitFor()
    expect((await client.get('/api/plugins/rates')).json.status).toBe('active')

    await page.getByRole('form', { name: 'Code' }).getByRole('textbox').fill(`// New.\n${rates}`)
    await page.getByRole('button', { name: 'Save a new version' }).click()
    await page.getByText('A new version waits for approval.').waitFor()
    await page.getByRole('button', { name: 'Approve: rates' }).click()
    // Meanwhile another version has come: what was read is not what would run.
    await client.send('PATCH', '/api/plugins/rates', { body: { code: `// Newer.\n${rates}` } })
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('The plugin has another hash by now.').waitFor()
    await page.keyboard.press('Escape')
    await openScreen(page, 'plugins')
    await page.getByRole('switch', { name: 'Plugin rates' }).click()
    await page.getByText('Its code and grants wait for approval. Nothing of it runs.').waitFor()
    expect((await client.get('/api/plugins/rates')).json).toMatchObject({ status: 'pending', runs: false })
    await openScreen(page, 'tools')
    await page.locator('li.card', { hasText: 'rates' }).locator('.badge.warn', { hasText: 'approval' }).waitFor()
    await openScreen(page, 'plugins/rates')
    await page.getByText('Nothing yet.').waitFor()
  })

  itInTurn('offers a skill to a repository as a pull request, with a secret of the tenant', async () => {
    const content = '---\nname: soup\ndescription: Makes soup.\n---\n\nCook it.\n'
    await client.post('/api/skills', { name: 'soup', content })
    await openScreen(page, 'skills/soup')
    const fold = page.locator('summary', { hasText: 'Offer to a repository' })
    await fold.click()
    await page.getByText('This needs a token of GitHub').waitFor()
    await client.post('/api/secrets', { name: 'AAA', value: 'another-secret-77aa' })
    await fold.click()
    await fold.click()
    const form = page.getByRole('form', { name: 'Offer to a repository' })
    const send = form.getByRole('button', { name: 'Open a pull request' })
    await send.click()
    await form.getByText('Choose the secret with the token').waitFor()
    await client.post('/api/secrets', { name: 'GITHUB_TOKEN', value: 'a-token-of-github-77aa' })
    await fold.click()
    await fold.click()
    await form.getByLabel(/^Repository/).fill('soup')
    await send.click()
    // The server refuses a name that is none.
    await form.getByRole('alert').waitFor()
    const asked: unknown[] = []
    await page.route('**/api/skills/soup/publish', async (route) => {
      asked.push(route.request().postDataJSON())
      const status = asked.length > 1 ? 200 : 201
      await route.fulfill({
        status,
        json: { url: 'https://github.com/acme/skills/pull/7', number: 7, created: status === 201 },
      })
    })
    await form.getByLabel(/^Repository/).fill(' acme/skills ')
    await send.click()
    const pull = form.getByRole('link', { name: 'Pull request 7' })
    await form.getByText('The pull request is open:').waitFor()
    expect([await pull.getAttribute('href'), await pull.getAttribute('rel')]).toEqual([
      'https://github.com/acme/skills/pull/7',
      'noreferrer',
    ])
    await form.getByLabel(/^Folder/).fill('')
    await form.getByLabel(/^Branch/).fill('next')
    await send.click()
    await form.getByText('These files were offered before:').waitFor()
    expect(asked).toEqual([
      { repository: 'acme/skills', secret: 'GITHUB_TOKEN', folder: 'skills' },
      { repository: 'acme/skills', secret: 'GITHUB_TOKEN', folder: '', into: 'next' },
    ])
    expect(await findViolations(page)).toEqual([])
    await page.unroute('**/api/skills/soup/publish')
    for (const name of ['AAA', 'GITHUB_TOKEN']) await client.send('DELETE', `/api/secrets/${name}`)
  })

  itInTurn('lists what was learned from errors, finds, tags, unites and deletes it', async () => {
    const save = (fix: object) => client.post('/api/learning', { action: 'save', ...fix })
    const error = 'ModuleNotFoundError: no module named pandas in this environment'
    await save({ tool: 'terminal', failed: 'python report.py', error, fix: 'pip install pandas' })
    await save({ tool: 'terminal', failed: 'python other.py', error: `${error} today`, fix: 'pip install pandas' })
    await save({ tool: 'terminal', failed: 'make', error: 'make: command not found', fix: 'npm run build' })
    await openScreen(page, 'memory')
    await page.locator('summary', { hasText: 'Learned from errors' }).click()
    const section = page.getByRole('region', { name: 'Learned from errors' })
    const cards = section.locator('li.card')
    await expect.poll(() => cards.count()).toBe(3)
    await section.getByLabel('Search').fill('NPM build')
    await expect.poll(() => cards.count()).toBe(1)
    await cards.getByText('make: command not found').waitFor()
    await cards.getByText('npm run build').waitFor()
    await cards.getByRole('button', { name: 'Tags' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox').fill('build, , ci,build')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await cards.locator('.badge', { hasText: 'ci' }).waitFor()
    expect(await cards.locator('.badge').allInnerTexts()).toEqual(['terminal', 'build', 'ci'])
    await section.getByLabel('Search').fill('')
    await section.getByRole('button', { name: 'Unite those that are alike' }).click()
    await expect.poll(() => cards.count()).toBe(2)
    expect(await findViolations(page)).toEqual([])
    const made = section.locator('li.card', { hasText: 'npm run build' })
    await made.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await expect.poll(() => cards.count()).toBe(1)
    expect((await client.get('/api/learning')).json.data).toMatchObject([{ fix: 'pip install pandas' }])
  })

  itInTurn('asks before it stores a skill that the scan warns of', async () => {
    await openScreen(page, 'skills')
    const bodies: unknown[] = []
    await page.route('**/api/skills/import', async (route) => {
      bodies.push(route.request().postDataJSON())
      const error = { code: 'conflict', param: 'accept', message: 'The scan found: a download of a program.' }
      const isFirst = bodies.length === 1
      await route.fulfill(isFirst ? { status: 409, json: { error } } : { status: 201, json: { name: 'tea' } })
    })
    await client.post('/api/skills', {
      name: 'tea',
      content: '---\nname: tea\ndescription: Makes tea.\n---\n\nBoil.\n',
    })
    const form = page.getByRole('form', { name: 'Import a skill' })
    await form.getByLabel(/^Address/).fill('https://skills.example.com/tea')
    await form.getByRole('button', { name: 'Import' }).click()
    await page.getByRole('dialog').getByText('a download of a program').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Store anyway' }).click()
    await page.getByRole('heading', { name: 'tea' }).waitFor()
    expect(bodies).toEqual([
      { url: 'https://skills.example.com/tea' },
      { url: 'https://skills.example.com/tea', accept: true },
    ])
    await page.unroute('**/api/skills/import')
    await openScreen(page, 'skills')
    await form.getByLabel(/^Address/).fill('http://127.0.0.1/SKILL.md')
    await form.getByRole('button', { name: 'Import' }).click()
    await form.getByRole('alert').waitFor()
  })

  itInTurn('shows the tree of subagents, and the states of the files', async () => {
    const id = await client.newSession()
    await client.chat(id, '[[call delegate_task {"goal":"[[say looked it up]]"} then say Delegated.]]')
    await client.chat(id, '[[call write_file {"path":"one.md","content":"# 1"} then say written]]')
    await page.evaluate(`location.hash = '#/chat/${id}'`)
    await page.getByRole('button', { name: 'Search and export' }).click()
    await page.getByRole('link', { name: 'Subagents and states of the files' }).click()
    const branch = page.locator('.branches > li', { hasText: 'looked it up' })
    await branch.locator('.badge.good', { hasText: 'Completed' }).waitFor()
    await branch.getByText(/Model calls: \d/).waitFor()
    await page.getByText('one.md').first().waitFor()
    await page.getByRole('button', { name: 'Name this state' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('before the move')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    const named = page.locator('li.card', { hasText: 'before the move' })
    await named.locator('.badge', { hasText: 'Named' }).waitFor()
    await client.send('PUT', `/api/sessions/${id}/files/one.md`, { raw: '# 2' })
    await named.getByRole('button', { name: 'Roll back' }).click()
    await page.getByRole('dialog').getByText('The conversation stays as it is.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await branch.getByRole('link').click()
    await page.locator('.list', { hasText: 'looked it up' }).waitFor()
    expect(page.url()).not.toContain(id)
  })

  itInTurn('starts a batch, shows its answers and its cost, and runs again what has failed', async () => {
    await openScreen(page, 'batches')
    const form = page.getByRole('form', { name: 'New batch' })
    await form.getByLabel('Name').fill('letters')
    const failing = `[[status 400 times=1 nonce=${crypto.randomUUID().slice(0, 8)}]] [[say second]]`
    await form.locator('textarea').fill(`[[say first]]\n${failing}`)
    await form.getByText('Prompts: 2.').waitFor()
    await form.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('heading', { name: 'letters' }).waitFor()
    await page.locator('.badge.bad', { hasText: 'Ended' }).waitFor()
    await page.getByText(/1 of 2 done · 1 failed · \$/).waitFor()
    const rows = page.locator('ol.list-of > li')
    await expect.poll(() => rows.count()).toBe(2)
    await rows.filter({ hasText: 'first' }).locator('summary').click()
    await rows.filter({ hasText: 'first' }).getByText('first', { exact: true }).waitFor()
    await page.getByLabel('Show').selectOption('failed')
    await expect.poll(() => rows.count()).toBe(1)
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Results (JSON lines)' }).click()
    expect((await saved).suggestedFilename()).toBe('letters-results.jsonl')
    await page.getByRole('button', { name: 'Retry 1' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.locator('.badge.good', { hasText: 'Ended' }).waitFor()
    expect((await client.get('/api/batches')).json.data).toMatchObject([{ name: 'letters', counts: { completed: 2 } }])
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No batches yet.').waitFor()
  })

  itInTurn('lists what evaluations have found, and opens a file of results', async () => {
    for (const outcome of ['passed', 'failed'])
      await client.newSession({ title: `eval: case that ${outcome}`, tags: ['eval', `eval-${outcome}`] })
    await openScreen(page, 'evals')
    await page.getByText(/^1 of 2 passed · /).waitFor()
    await page.getByLabel('Show').selectOption('failed')
    await page.getByRole('main').getByRole('link', { name: 'case that passed' }).waitFor({ state: 'detached' })
    await page.locator('li.card', { hasText: 'case that failed' }).locator('.badge.bad').waitFor()
    const failures = [{ assertion: 'asked: approval', reason: 'It did not ask.' }]
    const results = [{ name: 'asks first', passed: false, rate: 0, runs: [{ failures, warnings: [], cost: 0.01 }] }]
    const buffer = Buffer.from(JSON.stringify({ results }))
    await page
      .locator('main input[type=file]')
      .setInputFiles({ name: 'report.json', mimeType: 'application/json', buffer })
    await page.getByText('asked: approval: It did not ask.').waitFor()
    expect(await page.getByRole('main').getByRole('link', { name: 'case that failed' }).count()).toBe(1)
  })

  itInTurn('lists the hosts that commands have called, with what was refused', async () => {
    await client.send('PATCH', '/api/settings', { body: { terminal: { network: 'public' } } })
    const id = await client.newSession()
    await client.chat(id, '[[call terminal {"command":"curl -s http://127.0.0.2:9/"} then say called]]')
    await openScreen(page, 'usage')
    const hosts = page.getByRole('region', { name: 'Hosts that agents have called' })
    const row = hosts.locator('tbody tr', { hasText: '127.0.0.2' })
    expect((await row.locator('td').allInnerTexts()).slice(0, 4)).toEqual(['127.0.0.2', '0', '0 B', '1'])
  })

  itInTurn('lets the owner make rules for sign-ins, and seals with a new data key', async () => {
    const { id: tenant, client: other } = await newTenant(owner)
    await other.post('/api/secrets', { name: 'TOKEN', value: 'a-value-of-a-secret' })
    const own = await signIn(browser, owner, { locale: 'en-US' })
    await openScreen(own, 'owner')
    const form = own.getByRole('form', { name: 'Add a rule' })
    await form.getByLabel('Tenant').selectOption(tenant)
    await form.getByLabel('Name').fill(`rule of ${tenant}`)
    await form.getByLabel(/^Issuer/).fill('https://team.example.com')
    await form.getByLabel(/^Audience/).fill('4714c1358e65fe4b408ad6d432a5f878')
    await form.getByLabel(/^Claim/).fill('email')
    await form.getByLabel('Value of the claim').fill('ann@example.com')
    await form.getByRole('button', { name: 'Add' }).click()
    const rules = own.getByRole('region', { name: 'Sign-in by identity providers' })
    const rule = rules.locator('li', { hasText: `rule of ${tenant}` })
    await rule.getByText('email = ann@example.com').waitFor()
    const list = async () => (await owner.get(`/api/admin/logins?tenant_id=${tenant}`)).json.data
    expect(await list()).toMatchObject([{ scopes: ['chat', 'read'], claim: 'email' }])
    await rule.getByRole('button').click()
    await own.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await expect.poll(async () => (await list()).length).toBe(0)
    const card = own.locator('li.card', { hasText: tenant }).first()
    await card.getByRole('button', { name: `New data key: ${tenant}` }).click()
    await own.getByRole('dialog').getByRole('button', { name: 'New data key' }).click()
    await card.getByText(/Sealed again: [1-9]/).waitFor()
    await leave(own)
  })

  itInTurn('asks for the approval of a plugin in a dialog without a violation that axe finds', async () => {
    await client.post('/api/plugins', { name: 'guard', code: rates, grants: { kv: true } })
    await openScreen(page, 'plugins')
    await page.getByRole('button', { name: 'Approve: guard' }).click()
    await page.getByRole('dialog').waitFor()
    expect(await findViolations(page, { theme: 'light' })).toEqual([])
    expect(await findViolations(page, { theme: 'dark', isColour: true })).toEqual([])
  })
})
