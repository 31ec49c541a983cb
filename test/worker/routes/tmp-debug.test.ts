import { runInDurableObject } from 'cloudflare:test'
import { beforeAll, expect, it } from 'vitest'
import { bert, deliver, messageOf, newChat, tell, updateOf } from '../../support/chat.ts'
import { Gate, says } from '../../support/scripted-model.ts'
import { bindings, call, migrated, newTenant } from '../client.ts'
import { tenantSnapshot } from '../../../src/durable/tenant/tenant-snapshot.ts'

beforeAll(migrated)
it('debug', async () => {
    const out: unknown[] = []
    const { id: tenantId, key } = await newTenant()
    const patched = await call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { limits: { concurrent_turns: 1 } } })
    const gate = new Gate()
    const chat = await newChat([says('Wait', gate, ' a moment.')], {}, key)
    const active = () => runInDurableObject(bindings.TENANT.getByName(`t/${tenantId}`), (_o, { storage }) => storage.sql.exec('SELECT * FROM active').toArray())
    out.push(patched.body, await tenantSnapshot(bindings, tenantId))
    await tell(chat, 'hi')
    await gate.reached()
    out.push(await active())
    const update = updateOf({ message: messageOf('hi', { chat: { id: 12, type: 'private' }, from: bert }) })
    expect((await deliver(chat, update)).status).toBe(200)
    out.push(await active())
    gate.open()
    expect(JSON.stringify(out)).toBe(1)
})
