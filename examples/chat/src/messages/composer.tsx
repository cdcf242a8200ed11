import type { Conversation, Message } from '@hermod/client'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { IconButton } from '../ui/icon-button.js'
import { useAttempt } from '../ui/notice.js'
import { AttachButton } from './attach-button.js'

interface ComposerProps {
  readonly conversation: Conversation
  /** The message that is being changed; undefined: the text becomes a new one. */
  readonly edited: Message | undefined
  /** The newest own text, which the arrow key up edits. */
  readonly lastOwn: Message | undefined
  onEdit(message: Message | undefined): void
  onSent(): void
}

/** The field for a message. Enter sends, Shift+Enter makes a line, Escape ends an edit. */
export function Composer({ conversation, edited, lastOwn, onEdit, onSent }: ComposerProps) {
  const attempt = useAttempt()
  const [text, setText] = useState(edited?.text ?? conversation.draft.getSnapshot())
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current?.focus(), [])

  function write(next: string) {
    setText(next)
    if (edited !== undefined) return
    conversation.typing(next !== '')
    attempt(conversation.draft.set(next))
  }

  function submit() {
    const said = text.trim()
    if (said === '') return
    if (edited === undefined) attempt(conversation.draft.set(''))
    setText('')
    onEdit(undefined)
    attempt(
      edited === undefined ? conversation.send(said).then(onSent) : conversation.edit(edited, said),
    )
  }

  function onKeyDown(event: KeyboardEvent) {
    const { key, shiftKey, nativeEvent } = event
    // An input method uses Enter to choose a word.
    if (nativeEvent.isComposing) return
    if (key === 'Enter' && !shiftKey) submit()
    else if (key === 'Escape' && edited !== undefined) onEdit(undefined)
    else if (key === 'ArrowUp' && text === '' && lastOwn !== undefined) onEdit(lastOwn)
    else return
    event.preventDefault()
  }

  return (
    <form
      className="composer"
      data-editing={edited !== undefined}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {edited === undefined ? (
        <AttachButton conversation={conversation} onSent={onSent} />
      ) : (
        <IconButton icon="close" label="End the edit" onClick={() => onEdit(undefined)} />
      )}
      <textarea
        ref={field}
        rows={1}
        value={text}
        aria-label={edited === undefined ? 'Message' : 'Changed message'}
        placeholder="Message"
        onKeyDown={onKeyDown}
        onChange={({ target }) => write(target.value)}
      />
      <IconButton
        icon="send"
        label="Send"
        type="submit"
        className="send"
        disabled={text.trim() === ''}
      />
    </form>
  )
}
