import {
  errorCatalogue,
  type ParamsOf,
  sendBroadcast,
  sendMessage,
  sendNotification,
  targetType,
} from '@hermod/protocol'
import type { BroadcastService } from '../../domain/messaging/sending/broadcast-service.js'
import type {
  MessageService,
  SendRequest,
  SentMessages,
} from '../../domain/messaging/sending/message-service.js'
import { type CallContext, data, type Handler, handle } from '../../pipeline/call.js'
import { chargeRowsTo } from '../../pipeline/call-cost.js'

type SendParams = ParamsOf<typeof sendMessage>

export function sendingHandlers({
  broadcasts,
  messages,
}: {
  readonly broadcasts: BroadcastService
  readonly messages: MessageService
}): Handler[] {
  const send = async (
    params: SendParams,
    { principal, allowance }: CallContext<'sender' | 'admin'>,
    isSystem: boolean,
  ) => {
    const { messageIds, refused } = await messages.send(
      principal,
      toSendRequest(params, isSystem),
      chargeRowsTo(allowance),
    )
    return {
      data: true,
      extras: {
        ...(messageIds.length > 0 && { msg_ids: [...messageIds] }),
        ...(refused.length > 0 && { fails: refused.map(toFailedTarget) }),
      },
    }
  }
  return [
    handle(sendMessage, (params, context) => send(params, context, false)),
    handle(sendNotification, (params, context) => send(params, context, true)),
    handle(sendBroadcast, async (params, { principal }) => {
      const { users } = await broadcasts.send(principal, {
        fromUserId: params.from_user_id,
        contentType: params.content_type,
        content: params.content ?? '',
        attachment: params.attachment ?? '',
        config: params.config ?? '',
        ext: params.ext ?? '',
      })
      return data({ send_num: users, success: true })
    }),
  ]
}

function toFailedTarget({ target, error }: SentMessages['refused'][number]) {
  const { code, text } = errorCatalogue[error]
  return { target, code, reason: text }
}

function toSendRequest(params: SendParams, isSystem: boolean): SendRequest {
  const { transaction_id: transactionId } = params
  return {
    fromUserId: params.from_user_id,
    targets: params.targets,
    targetType: params.type === targetType.group ? 'group' : 'user',
    contentType: params.content_type,
    content: params.content,
    attachment: params.attachment ?? '',
    config: params.config ?? '',
    ext: params.ext ?? '',
    onlineOnly: params.online_only ?? false,
    // 0 counts as absent (rule E4).
    transactionId: transactionId === undefined || transactionId === 0 ? null : transactionId,
    isSystem,
    stream: params.stream?.kind,
    relatedMessageId: params.related_mid,
    seenEdit: params.edit_timestamp,
    replyToId: params.reply_to,
  }
}
