import { afterAll, beforeAll } from 'vitest'
import { deployment } from '../../support/deployment.ts'
import { binding } from './binding.ts'
import { testFaults } from './suite.ts'
import { workersAi } from './wires/workers-ai.ts'

beforeAll(() => void (deployment.ai = binding))
afterAll(() => void delete deployment.ai)
testFaults(workersAi)
