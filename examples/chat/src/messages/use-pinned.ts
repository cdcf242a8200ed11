import type { Conversation, Message } from '@hermod/client'
import { useClient } from '@hermod/client/react'
import { useEffect, useState } from 'react'
import { previewText } from '../message/preview-text.js'

/** A line of the bar of pinned messages. */
export interface PinnedLine {
  readonly id: number
  readonly text: string
}

/** Returns the pinned messages: those that are loaded, then those that the service names. */
export function usePinned({ id }: Conversation, messages: readonly Message[]): PinnedLine[] {
  const client = useClient()
  const [answered, setAnswered] = useState<readonly PinnedLine[]>([])
  const pinned = messages
    .filter((message) => message.pinned !== undefined)
    .sort((one, other) => (other.pinned?.at ?? 0) - (one.pinned?.at ?? 0))
  const ids = pinned.map((message) => message.id).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the pinned ones reads again
  useEffect(() => {
    client.call('message.pinned', { conversation_id: id }).then(
      ({ data }) =>
        setAnswered(
          data.messages.map(({ msg_id, content }) => ({ id: msg_id, text: content || 'File' })),
        ),
      // Offline the loaded ones are enough.
      () => {},
    )
  }, [client, id, ids])
  const others = answered.filter((line) => !messages.some((message) => message.id === line.id))
  return [...pinned.map((message) => ({ id: message.id, text: previewText(message) })), ...others]
}
