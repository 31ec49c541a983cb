import { testFaults } from './suite.ts'
import { bedrock } from './wires/bedrock.ts'

testFaults(bedrock)
