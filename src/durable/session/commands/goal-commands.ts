/** `/goal` and `/subgoal`: set, show and steer what the session works towards. */

import { splitWords } from '#agent/policy/slash-command/parse-command.ts'
import {
  changeGoal,
  contractFields,
  type ContractField,
  createGoal,
  type Goal,
  type GoalContract,
  maxCriteria,
  maxGateChars,
  maxGates,
  maxGoalChars,
  pauseGoal,
  resumeGoal,
  takeOverGoal,
} from '#agent/schedule/goal/goal.ts'
import { describeGoalState, renderGoal, renderGoalStart } from '#agent/schedule/goal/goal-text.ts'
import { saveGoal } from '../core/save-goal.ts'
import { findWorkRefusal } from '../core/work-of-others.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandReply, reply, type CommandHandler, isFreeAction, usageReply } from './command.ts'

type GoalCommandAction = (session: Session, call: CommandCall, rest: string) => CommandReply

export const goalCommand: CommandHandler = (session, call) => {
  const [word = ''] = call.words
  const action = actions[word.toLowerCase()]
  if (!call.text) return showGoal(session)
  const refusal = isFreeAction(call.text) ? undefined : findWorkRefusal(session, 'goal', call)
  if (refusal) return reply(refusal)
  if (!action) return setGoal(session, call, call.text)
  return action(session, call, call.text.slice(word.length).trim())
}

export const subgoalCommand: CommandHandler = (session, call) => {
  const { goal } = session.meta
  const { text, authority } = call
  if (!goal) return noGoal
  const [, n] = /^remove (\d{1,3})$/i.exec(text) ?? []
  if (!text) return usageReply('subgoal')
  const refusal = findWorkRefusal(session, 'goal', call)
  if (refusal) return reply(refusal)
  if (n === undefined && goal.criteria.length >= maxCriteria)
    return reply(`A goal has at most ${maxCriteria} criteria.`)
  const criteria =
    n === undefined ? [...goal.criteria, text.slice(0, maxGateChars)] : goal.criteria.toSpliced(Number(n) - 1, 1)
  return keep(session, changeGoal(goal, { criteria }, authority))
}

const noGoal = reply('There is no goal. /goal TEXT sets one.')

/** The words after `/goal` that are no text of a goal. */
const actions: Readonly<Record<string, GoalCommandAction>> = {
  draft: (session, call, text) =>
    text ? keep(session, newGoal(session, call, { text, at: 'draft' })) : usageReply('goal'),
  start: (session, call) => withGoal(session, (goal) => startGoal(session, call, goal)),
  show: (session) => showGoal(session),
  status: (session) => showGoal(session),
  gate: (session, call, command) => withGoal(session, (goal) => addGate(session, call, { goal, command })),
  ungate: (session, { authority }, n) =>
    withGoal(session, (goal) =>
      keep(session, changeGoal(goal, { gates: goal.gates.toSpliced(Number(n) - 1, 1) }, authority)),
    ),
  wait: (session, _call, process) => withGoal(session, (goal) => waitFor(session, goal, process)),
  pause: (session) => withGoal(session, (goal) => change(session, pauseGoal(goal, 'Paused by a person.'))),
  resume: (session, { authority }) => withGoal(session, (goal) => keep(session, resumeGoal(goal, authority))),
  clear: (session) => clearGoal(session),
  ...Object.fromEntries(contractFields.map((field) => [field, setField(field)])),
}

const withGoal = ({ meta }: Session, act: (goal: Goal) => CommandReply): CommandReply =>
  meta.goal ? act(meta.goal) : noGoal

const showGoal = (session: Session): CommandReply =>
  withGoal(session, (goal) => reply(`${renderGoal(goal)}\n\n${describeGoalState(goal)}`))

function keep(session: Session, goal: Goal): CommandReply {
  saveGoal(session, goal)
  return showGoal(session)
}

/** A change by a person: a verdict about the goal before it does not count. */
const change = (session: Session, goal: Goal): CommandReply => keep(session, { ...goal, version: goal.version + 1 })

function setField(field: ContractField): GoalCommandAction {
  return (session, { authority }, text) =>
    withGoal(session, (goal) =>
      keep(session, changeGoal(goal, { contract: { ...goal.contract, [field]: text || undefined } }, authority)),
    )
}

type NewText = { readonly text: string; readonly at: 'draft' | 'active'; readonly contract?: GoalContract }

function newGoal({ meta, store }: Session, { authority }: CommandCall, { text, at, contract = {} }: NewText): Goal {
  const given = { text: text.slice(0, maxGoalChars), contract, state: { at }, authority } as const
  return createGoal({ ...given, judgedRun: store.current()?.id }, (meta.goal?.version ?? 0) + 1)
}

/** The goal is the message of the first turn. */
function setGoal(session: Session, call: CommandCall, text: string): CommandReply {
  const goal = newGoal(session, call, { text, at: 'active' })
  saveGoal(session, goal)
  return { kind: 'message', text: renderGoalStart(goal) }
}

function startGoal(session: Session, { authority }: CommandCall, goal: Goal): CommandReply {
  if (goal.state.at !== 'draft') return reply(`The goal has been started. ${describeGoalState(goal)}`)
  const taken = { authority: takeOverGoal(goal, authority), version: goal.version + 1 }
  const started: Goal = { ...goal, ...taken, state: { at: 'active' } }
  saveGoal(session, { ...started, judgedRun: session.store.current()?.id })
  return { kind: 'message', text: renderGoalStart(started) }
}

type AddedGate = { readonly goal: Goal; readonly command: string }

function addGate(session: Session, { authority }: CommandCall, { goal, command }: AddedGate): CommandReply {
  if (!command || command.length > maxGateChars) return usageReply('goal')
  if (goal.gates.length >= maxGates) return reply(`A goal has at most ${maxGates} gates.`)
  return keep(session, changeGoal(goal, { gates: [...goal.gates, command] }, authority))
}

function waitFor(session: Session, goal: Goal, text: string): CommandReply {
  const [asked = ''] = splitWords(text)
  const running = session.toolRuntime.processes.list().filter(({ state }) => state.at === 'running')
  const process = running.find(({ id, pid }) => id.startsWith(asked) || String(pid) === asked)
  if (!asked || !process) {
    const ids = running.map(({ id, command }) => `${id}: ${command}`)
    return reply(ids.length ? `Name one of the running processes:\n${ids.join('\n')}` : 'No process is running.')
  }
  return change(session, { ...goal, state: { at: 'waiting', process: process.id } })
}

function clearGoal(session: Session): CommandReply {
  if (!session.meta.goal) return noGoal
  saveGoal(session, undefined)
  return reply('The goal is cleared.')
}
