import { useClient } from '@hermod/client/react'
import type { Message } from '@hermod/client'
import { sizeText } from '../ui/format.js'
import { Icon } from '../ui/icon.js'
import { Picture } from './picture.js'

/** The content of a message: text, a picture, or a file to download. */
export function MessageBody({ message }: { readonly message: Message }) {
  const { contentType, attachment, text } = message
  return (
    <>
      {contentType === 'image' && <Picture message={message} />}
      {!['text', 'image'].includes(contentType) && attachment && <FileLink message={message} />}
      {text !== '' && <p className="message-text">{text}</p>}
    </>
  )
}

function FileLink({ message: { attachment = {} } }: { readonly message: Message }) {
  const { url = '', name = 'File', size } = attachment
  const address = useClient().fileUrl(url)
  return (
    <a className="file" href={address} download={name}>
      <Icon name="file" />
      <span>
        {name} {size !== undefined && <small>{sizeText(size)}</small>}
      </span>
    </a>
  )
}
