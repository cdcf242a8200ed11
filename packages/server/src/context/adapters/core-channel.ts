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

/** The channel to the connected devices of all nodes, which ask one another over the bus. */
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
  return new SessionChannel({
    directory,
    answers,
    ask: (nodeId, question) => questions.ask(nodeId, question),
  })
}
