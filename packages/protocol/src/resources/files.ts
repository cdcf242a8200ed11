import { uploadMethods } from '../enums.js'
import { resource } from '../resource.js'
import { freeObject, type Static, stringEnum, text } from '../schema.js'

/**
 * File upload ticket: download_url is absolute and ends with `sign=` and the signature, since
 * clients cut it there (rule K8).
 */
export const UploadTicket = resource('UploadTicket', 'Where and how to send one file.', {
  upload_url: text('where to send the file'),
  upload_method: stringEnum(uploadMethods, { description: 'HTTP method of the upload' }),
  oss_body_param: freeObject({
    description: 'form fields to send along with the file; may be empty',
  }),
  download_url: text(
    'address to store in a message attachment, avatar or shared file; ends with its signature',
  ),
})
/** Address and fields of one upload; oss_body_param is {} when no fields are needed. */
export type UploadTicket = Static<typeof UploadTicket>
