import { filePurpose, meaningsOf } from '../../enums.js'
import { resource } from '../../resource.js'
import { array, int64, intEnum, type Static, text } from '../../schema.js'

const fields = {
  app_id: text('application ID'),
  file_id: text('file ID, which is the object name of an avatar'),
  owner_id: int64({ description: 'who uploaded it; 0: the system' }),
  purpose: intEnum(meaningsOf(filePurpose), { description: 'what its ticket was for' }),
  to_type: int64({ description: 'kind of recipient: 1 a user, 2 a group, 0 all users' }),
  to_id: int64({ description: 'the user or group; 0: all users' }),
  name: text('as the client named it; "": it did not'),
  content_type: text('by its content'),
  size: int64({ description: 'bytes' }),
  created_at: int64({ description: 'when it was stored, ms' }),
}

/** A file for operators. */
export const OperatorFile = resource('OperatorFile', 'A file.', fields)
/** A file. */
export type OperatorFile = Static<typeof OperatorFile>

/** References that keep a file: without any, the file is removed after a day (rule J7). */
export const OperatorFileDetails = resource('OperatorFileDetails', 'A file and what names it.', {
  ...fields,
  references: array(text('a message, an avatar or a shared file'), {
    description: 'what names it, in words; at most 100',
  }),
})
/** A file and its references. */
export type OperatorFileDetails = Static<typeof OperatorFileDetails>

/** A page of the files of an application. */
export const OperatorFilePage = resource('OperatorFilePage', 'Some files, newest first.', {
  files: array(OperatorFile, { description: 'newest first' }),
  next_cursor: text('where the next page starts; "": this was the last one'),
})
/** A page of files. */
export type OperatorFilePage = Static<typeof OperatorFilePage>

/** Renditions, such as thumbnails, are not counted. */
export const FileUsage = resource('FileUsage', 'How much an application has in files.', {
  app_id: text('application ID'),
  files: int64({ description: 'how many files there are' }),
  bytes: int64({ description: 'their bytes together' }),
})
/** The usage of an application. */
export type FileUsage = Static<typeof FileUsage>
