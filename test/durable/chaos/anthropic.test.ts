import { testFaults } from './suite.ts'
import { anthropic } from './wires/anthropic.ts'

testFaults(anthropic)
