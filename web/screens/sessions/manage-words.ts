/** The words of the list of all sessions. */

import { wordsOf } from '../../words/words.ts'

export const { say } = wordsOf(
  {
    archiveFilter: 'Archive',
    automation: 'Automation',
    chats: 'Chats',
    chooseAll: 'Choose all',
    chooseOne: 'Choose “{title}”',
    chosenCount: '{count} chosen',
    chosenOnes: 'Chosen sessions',
    deleteMany: 'Delete {count} sessions with their messages and files? This cannot be undone.',
    importSession: 'Import',
    imported: 'Imported.',
    notArchived: 'Not archived',
    notDeleted: '{count} could not be deleted. Try again.',
    withTag: 'Tag “{tag}”',
  },
  {
    archiveFilter: 'Archiv',
    automation: 'Automatisch',
    chats: 'Gespräche',
    chooseAll: 'Alle wählen',
    chooseOne: '„{title}“ wählen',
    chosenCount: '{count} gewählt',
    chosenOnes: 'Gewählte Sitzungen',
    deleteMany: '{count} Sitzungen mit Nachrichten und Dateien löschen? Das lässt sich nicht rückgängig machen.',
    importSession: 'Importieren',
    imported: 'Importiert.',
    notArchived: 'Nicht archiviert',
    notDeleted: '{count} ließen sich nicht löschen. Bitte noch einmal versuchen.',
    withTag: 'Tag „{tag}“',
  },
)
