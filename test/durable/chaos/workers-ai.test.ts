import { deployment } from '../../support/deployment.ts'
import { binding } from './binding.ts'
import { testFaults } from './suite.ts'
import { workersAi } from './wires/workers-ai.ts'

deployment.ai = binding
testFaults(workersAi)
