import { AppError } from '@hermod/protocol'
import { type Appended, stateName } from './stream-model.js'

/** Returns the error for a chunk that a stream does not take. */
export function refusalOf({ kind, stream }: Appended): AppError {
  switch (kind) {
    case 'size':
      return new AppError('message_too_large', `${stream.bytes} bytes are taken`)
    case 'rate':
      return new AppError('too_many_requests', 'appends to this message', { retryAfterSeconds: 1 })
    default: {
      const members = { next_index: stream.nextIndex, state: stateName(stream.state) }
      const detail = `next_index ${members.next_index}, state ${members.state}`
      return new AppError('stream_refused', detail, { members })
    }
  }
}
