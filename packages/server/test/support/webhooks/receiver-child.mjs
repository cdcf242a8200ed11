/**
 * A receiver of webhooks that is killed. Its only argument is JSON: the port, the secret, the path of
 * its log, and a seed. The log has a line for each accepted request, written before the answer.
 */
import { openSync, writeSync } from 'node:fs'
import { WebhookReceiver } from '@hermod/testkit/webhooks'
import { Webhook } from 'standardwebhooks'

const { port, secret, log, badAnswers } = JSON.parse(process.argv[2])
const file = openSync(log, 'a')
// A kill may have cut the last line.
writeSync(file, '\n')
const webhook = new Webhook(secret)

function refusal() {
  const chance = Math.random()
  if (chance < badAnswers / 2) return { status: 503 }
  return chance < badAnswers ? { status: 422 } : undefined
}

const receiver = await WebhookReceiver.start({
  port,
  verify(body, headers) {
    try {
      return webhook.verify(body, headers)
    } catch (error) {
      writeSync(file, `${JSON.stringify({ invalid: `${error}` })}\n`)
      throw error
    }
  },
  record({ path, events }) {
    // Later events of a message have its number too.
    const seen = events.map(({ id, key, type, data }) =>
      type === 'message.stored' ? { id, key, seq: data.seq } : { id, key },
    )
    writeSync(file, `${JSON.stringify({ path, events: seen })}\n`)
  },
  answer: refusal,
})
process.stdout.write(`listening ${receiver.port}\n`)
