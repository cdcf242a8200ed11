import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type AnswerMessage, NodeQuestions, type QuestionMessage } from './questions.js'

let questions: QuestionMessage[]
let answers: AnswerMessage[]
let unanswered: number
let isCut: boolean
let nodes: NodeQuestions[]

function makeNode(id: string): NodeQuestions {
  return new NodeQuestions({
    node: { id },
    ask(message) {
      questions.push(message)
      if (!isCut) for (const node of nodes) node.asked(message)
    },
    reply(message) {
      answers.push(message)
      for (const node of nodes) node.answered(message)
    },
    answer: ({ about, text }) => (text === undefined ? (about as number) * 10 : text === about),
    observer: { asked() {}, unanswered: (count) => (unanswered += count) },
  })
}

beforeEach(() => {
  vi.useFakeTimers()
  questions = []
  answers = []
  unanswered = 0
  isCut = false
  nodes = ['a', 'b', 'c'].map(makeNode)
})
afterEach(() => {
  vi.useRealTimers()
})

const ask = (about: unknown, to = 'b', text?: string) =>
  (nodes[0] as NodeQuestions).ask(to, { about, ...(text !== undefined && { text }) })

describe('questions to other nodes', () => {
  it('to one node are collected for 50 ms, and answered together', async () => {
    const asked = Promise.all([ask(1), ask(2), ask(3, 'c')])
    vi.advanceTimersByTime(49)
    expect(questions).toEqual([])
    vi.advanceTimersByTime(1)
    expect(await asked).toEqual([10, 20, 30])
    expect(questions.map(({ to, questions: { length } }) => [to, length])).toEqual([
      ['b', 2],
      ['c', 1],
    ])
    expect(answers).toHaveLength(2)
  })

  it('share their texts, which are sent once', async () => {
    const asked = Promise.all([ask('x', 'b', 'x'), ask('x', 'b', 'y'), ask('y', 'b', 'y')])
    vi.advanceTimersByTime(50)
    expect(await asked).toEqual([true, false, true])
    expect(questions[0]?.texts).toEqual(['x', 'y'])
  })

  it('get no answer when a message is lost, or comes after a second', async () => {
    isCut = true
    const asked = ask(1)
    vi.advanceTimersByTime(1_050)
    expect(await asked).toBeNull()
    expect(unanswered).toBe(1)
    nodes[1]?.asked(questions[0] as QuestionMessage)
    expect(answers).toHaveLength(1)
  })

  it('do not wait when there are many', async () => {
    const asked = Promise.all(Array.from({ length: 450 }, (_, about) => ask(about)))
    expect(questions).toHaveLength(2)
    vi.advanceTimersByTime(50)
    expect((await asked).at(-1)).toBe(4_490)
    expect(questions.map(({ questions: { length } }) => length)).toEqual([200, 200, 50])
  })
})
