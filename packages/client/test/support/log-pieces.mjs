/**
 * Loaded into a program by `--import`: prints each piece of a message that the service has answered, as
 * `piece {"msg_id":…,"index":…,"text":…}`, before the program learns of the answer.
 */
import { WebSocket } from 'ws'

const { send, emit } = WebSocket.prototype
/** Appends without an answer, by socket and number of the call. */
const calls = new WeakMap()

WebSocket.prototype.send = function (text, ...more) {
  const { id, op, data } = JSON.parse(text)
  const own = calls.get(this) ?? new Map()
  calls.set(this, own)
  if (op === 'message.stream.append') own.set(id, data)
  return send.call(this, text, ...more)
}

WebSocket.prototype.emit = function (event, data, ...more) {
  if (event === 'message') {
    const { id, code } = JSON.parse(String(data))
    const piece = calls.get(this)?.get(id)
    if (piece && code === 200) {
      const { msg_id, index, text } = piece
      console.log(`piece ${JSON.stringify({ msg_id, index, text })}`)
    }
  }
  return emit.call(this, event, data, ...more)
}
