import type { Bus } from '../../bus/bus.js'
import type { TransientDelivery } from '../../delivery/transient-delivery.js'
import type { ThisNode } from '../../nodes/node.js'
import { NodeQuestions } from '../../nodes/questions.js'
import type { Metrics } from '../../observability/metrics.js'
import type { CoreChannel } from '../../push/core-channel.js'
import { SessionChannel } from '../../push/session-channel.js'
import { SessionAnswers, type SessionQuestion } from '../../push/session-questions.js'
import type { SessionDirectory } from '../../sessions/directory.js'
import type { SessionRegistry } from '../../sessions/registry.js'

/** Within this time after the bus is back here, other nodes have it again too. */
const settlingMs = 10_000
/** Times that a question is asked while the bus comes back; each waits a second for the answer. */
const mostAsked = 10

/**
 * The channel to the connected devices of all nodes, which ask one another over the bus. After an
 * outage of the database nodes have the bus again at different times; until then a question is
 * repeated, where that does no harm.
 */
export function createCoreChannel({
  bus,
  node,
  directory,
  sessions,
  delivery,
  metrics,
}: {
  readonly bus: Bus
  readonly node: ThisNode
  readonly directory: SessionDirectory
  readonly sessions: SessionRegistry
  readonly delivery: TransientDelivery
  readonly metrics: Metrics
}): CoreChannel {
  const answers = new SessionAnswers({ sessions, transient: delivery })
  const questions = new NodeQuestions({
    node,
    ask: (message) => bus.publish('node.question', message),
    reply: (message) => bus.publish('node.answer', message),
    answer: ({ about, text }) => answers.answer(about as SessionQuestion, text),
    observer: metrics.sessions,
  })
  bus.subscribe('node.question', (message) => questions.asked(message))
  bus.subscribe('node.answer', (message) => questions.answered(message))
  let reconnectedAt = Number.NEGATIVE_INFINITY
  bus.onReconnected(() => {
    reconnectedAt = performance.now()
  })
  const isSettling = () => !bus.isConnected || performance.now() < reconnectedAt + settlingMs
  return new SessionChannel({
    directory,
    answers,
    async ask(nodeId, question) {
      const isRepeatable = (question.about as SessionQuestion).ask !== 'deliver'
      for (let asked = 1; ; asked++) {
        const answer = await questions.ask(nodeId, question)
        if (answer !== null || !isRepeatable || asked === mostAsked || !isSettling()) return answer
      }
    },
  })
}
