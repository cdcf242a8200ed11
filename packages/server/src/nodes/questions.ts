/** A question to another node. Plain data. */
export interface NodeQuestion {
  /** The question and its subject; plain data. */
  readonly about: unknown
  /** A text that many questions share, such as a notification; it is sent once for all of them. */
  readonly text?: string
}

/** The answer to a question; null: none came. */
export type NodeAnswer = boolean | number | null

/** The questions of a node to another one. */
export interface QuestionMessage {
  readonly to: string
  readonly from: string
  /** Number of the message, which its answer repeats. */
  readonly id: number
  readonly questions: readonly { readonly about: unknown; readonly text?: number }[]
  /** The texts of the questions, which have their places. */
  readonly texts: readonly string[]
}

/** The answers to a {@link QuestionMessage}, in the order of the questions. */
export interface AnswerMessage {
  readonly to: string
  readonly id: number
  readonly answers: readonly NodeAnswer[]
}

interface NodeQuestionsOptions {
  readonly node: { readonly id: string }
  /** Sends a message to its node, which may not get it. */
  ask(message: QuestionMessage): void
  reply(message: AnswerMessage): void
  /** Answers a question of another node. */
  answer(question: NodeQuestion): NodeAnswer
  readonly observer: {
    asked(questions: number): void
    /** No answer came in time. */
    unanswered(questions: number): void
  }
}

type Resolve = (answer: NodeAnswer) => void

interface Asked {
  readonly question: NodeQuestion
  readonly resolve: Resolve
}

/** Questions to one node are collected for this time. */
const collectedMs = 50
/** No answer within this time is none. */
const answerMs = 1_000
const maxQuestions = 200

/**
 * Questions between nodes about sessions that one of them has. They travel over the bus, which may
 * lose them, so the asker goes on without an answer after a second.
 */
export class NodeQuestions {
  readonly #collected = new Map<string, Asked[]>()
  readonly #pending = new Map<number, { readonly resolves: readonly Resolve[]; end(): void }>()
  #lastId = 0

  constructor(private readonly options: NodeQuestionsOptions) {}

  /** Asks a node. @returns null when no answer comes within a second */
  ask(nodeId: string, question: NodeQuestion): Promise<NodeAnswer> {
    return new Promise((resolve) => {
      const collected = this.#collected.get(nodeId) ?? []
      if (collected.push({ question, resolve }) === 1) {
        this.#collected.set(nodeId, collected)
        setTimeout(() => this.#send(nodeId, collected), collectedMs)
      } else if (collected.length === maxQuestions) this.#send(nodeId, collected)
    })
  }

  /** Takes questions from the bus, and answers those to this node. */
  asked({ to, from, id, questions, texts }: QuestionMessage): void {
    if (to !== this.options.node.id) return
    const answers = questions.map(({ about, text }) => {
      const question = text === undefined ? { about } : { about, text: texts[text] ?? '' }
      return this.options.answer(question)
    })
    this.options.reply({ to: from, id, answers })
  }

  /** Takes answers from the bus. */
  answered({ to, id, answers }: AnswerMessage): void {
    if (to !== this.options.node.id) return
    const pending = this.#pending.get(id)
    if (!pending) return
    pending.end()
    for (const [index, resolve] of pending.resolves.entries()) resolve(answers[index] ?? null)
  }

  #send(nodeId: string, collected: readonly Asked[]): void {
    // Sent before, because it was full.
    if (this.#collected.get(nodeId) !== collected) return
    this.#collected.delete(nodeId)
    const { node, ask, observer } = this.options
    const id = ++this.#lastId
    const resolves = collected.map(({ resolve }) => resolve)
    const timer = setTimeout(() => {
      this.#pending.delete(id)
      observer.unanswered(resolves.length)
      for (const resolve of resolves) resolve(null)
    }, answerMs)
    this.#pending.set(id, {
      resolves,
      end: () => {
        clearTimeout(timer)
        this.#pending.delete(id)
      },
    })
    observer.asked(resolves.length)
    const texts = [...new Set(collected.flatMap(({ question: { text } }) => text ?? []))]
    const places = new Map(texts.map((text, place) => [text, place]))
    const questions = collected.map(({ question: { about, text } }) => {
      const place = text === undefined ? undefined : places.get(text)
      return place === undefined ? { about } : { about, text: place }
    })
    ask({ to: nodeId, from: node.id, id, questions, texts })
  }
}
