import {
  appendStream,
  cancelStream,
  type ParamsOf,
  sendActivity,
  targetType,
} from '@hermod/protocol'
import type { StreamEnd } from '../../domain/messaging/operations/stream-ends.js'
import type { StreamService } from '../../domain/messaging/sending/stream-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function streamHandlers({ streams }: { readonly streams: StreamService }): Handler[] {
  return [
    handle(appendStream, async (params, { principal }) => {
      const stream = await streams.append(principal, {
        fromUserId: params.from_user_id,
        target: targetOf(params),
        messageId: params.msg_id,
        index: Number(params.index),
        text: params.text,
        end: params.end ? endOf(params.end) : null,
      })
      return data({
        next_index: stream.nextIndex,
        length: stream.length,
        cancel: stream.isCancelled === 1,
      })
    }),
    handle(cancelStream, ({ conversation_id: peerId, msg_id: messageId }, { principal }) =>
      whenDone(streams.cancel(principal, peerId, messageId)),
    ),
    handle(sendActivity, (params, { principal }) =>
      whenDone(
        streams.showActivity(principal, {
          fromUserId: params.from_user_id,
          target: targetOf(params),
          state: params.state,
          text: params.text ?? '',
        }),
      ),
    ),
  ]
}

function targetOf({
  type,
  conversation_id: id,
}: Pick<ParamsOf<typeof appendStream>, 'type' | 'conversation_id'>) {
  return { type: type === targetType.group ? 'group' : 'user', id } as const
}

function endOf({
  state,
  reason,
  content,
  ext,
  attachment,
}: NonNullable<ParamsOf<typeof appendStream>['end']>): StreamEnd {
  return { state, reason, content, ext, attachment }
}
