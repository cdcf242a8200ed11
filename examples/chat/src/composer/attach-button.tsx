import type { Conversation, Draft } from '@hermod/client'
import { useRef } from 'react'
import { IconButton } from '../ui/icon-button.js'
import { useAttempt } from '../ui/notice.js'

interface AttachButtonProps {
  readonly conversation: Conversation
  onSent(): void
}

/** Chooses files and sends each as a message. The client uploads it first. */
export function AttachButton({ conversation, onSent }: AttachButtonProps) {
  const attempt = useAttempt()
  const input = useRef<HTMLInputElement>(null)

  async function send(files: FileList | null) {
    for (const file of files ?? []) await conversation.send(await draftOf(file))
    onSent()
  }

  return (
    <>
      <IconButton
        icon="picture"
        label="Send a picture or a file"
        onClick={() => input.current?.click()}
      />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          attempt(
            send(target.files).finally(() => {
              target.value = ''
            }),
          )
        }}
      />
    </>
  )
}

/** Measures pictures, so that others leave the right place for them. */
async function draftOf(file: File): Promise<Draft> {
  if (!file.type.startsWith('image/')) return { file }
  const { width, height } = await createImageBitmap(file)
  return { file, attachment: { width, height } }
}
