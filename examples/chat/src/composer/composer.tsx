import type { Conversation, Message } from '@hermod/client'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { IconButton } from '../ui/icon-button.js'
import { useAttempt } from '../ui/notice.js'
import { AttachButton } from './attach-button.js'
import { ComposedQuote } from './composed-quote.js'

/** What becomes of the text: a new message, a reply to one, or its changed text. */
export type Composition =
  | { readonly kind: 'new' }
  | { readonly kind: 'reply' | 'edit'; readonly message: Message }

interface ComposerProps {
  readonly conversation: Conversation
  readonly composition: Composition
  /** The newest own text, which the arrow key up edits. */
  readonly lastOwn: Message | undefined
  onCompose(composition: Composition): void
  onSent(): void
}

/** The field for a message. Enter sends, Shift+Enter makes a line, Escape ends a reply or an edit. */
export function Composer({ conversation, composition, lastOwn, ...on }: ComposerProps) {
  const attempt = useAttempt()
  const { kind } = composition
  const isEdit = kind === 'edit'
  const [text, setText] = useState(
    isEdit ? composition.message.text : conversation.draft.getSnapshot(),
  )
  const field = useRef<HTMLTextAreaElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each reply or edit begins in the field
  useEffect(() => field.current?.focus(), [composition])

  const compose = on.onCompose
  const begin = () => compose({ kind: 'new' })

  function write(next: string) {
    setText(next)
    if (isEdit) return
    conversation.typing(next !== '')
    attempt(conversation.draft.set(next))
  }

  function submit() {
    const said = text.trim()
    if (said === '') return
    setText('')
    begin()
    if (isEdit) return attempt(conversation.edit(composition.message, said))
    const replyTo = kind === 'reply' ? composition.message : undefined
    attempt(conversation.draft.set(''))
    attempt(conversation.send({ text: said, ...(replyTo && { replyTo }) }).then(on.onSent))
  }

  function onKeyDown(event: KeyboardEvent) {
    const { key, shiftKey, nativeEvent } = event
    // An input method uses Enter to choose a word.
    if (nativeEvent.isComposing) return
    if (key === 'Enter' && !shiftKey) submit()
    else if (key === 'Escape' && kind !== 'new') begin()
    else if (key === 'ArrowUp' && text === '' && lastOwn !== undefined)
      compose({ kind: 'edit', message: lastOwn })
    else return
    event.preventDefault()
  }

  return (
    <form
      className="composer"
      data-editing={isEdit}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {kind === 'reply' && <ComposedQuote message={composition.message} onClose={begin} />}
      {isEdit ? (
        <IconButton icon="close" label="End the edit" onClick={begin} />
      ) : (
        <AttachButton conversation={conversation} onSent={on.onSent} />
      )}
      <textarea
        ref={field}
        rows={1}
        value={text}
        aria-label={isEdit ? 'Changed message' : 'Message'}
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
