/** Loads the adapter of the SDK without the SDK, which runs only in the runtime. */

import { vi } from 'vitest'

vi.mock('@cloudflare/sandbox', () => ({ Sandbox: Object, ContainerProxy: Object }))
vi.mock('cloudflare:workers', () => ({ DurableObject: Object }))
vi.mock('#worker/with-native-sandbox.ts', () => ({ default: {} }))

import * as sdk from '#worker/with-sandbox.ts'

export const { applyEgress, sdkContainer } = sdk
