/** The words of the screen of projects. */

import { wordsOf } from '../../words/words.ts'

export const { say } = wordsOf(
  {
    about: 'Sessions about one subject, with common instructions, files and a model.',
    addChannel: 'Give it to a channel',
    addMember: 'Add a member',
    channelsHint: 'Chats of these channels belong to the project: all who write there get what it has.',
    deleteProject: 'Delete the project',
    deleteText: 'Delete “{name}” and its files? Its sessions stay, without the instructions.',
    edit: 'Change the project',
    everybody: 'Everybody with a key',
    filesHint:
      'Every session of the project has copies of them in its folder project/, the newest with its next message.',
    instructions: 'Instructions',
    instructionsHint: 'New sessions of the project follow them. Sessions that have begun keep what they have.',
    manage: 'Manage members',
    may: 'May',
    members: 'Members',
    membersHint:
      'Only members see the project. Its sessions are seen by those who see all sessions of this place, too.',
    newProject: 'New project',
    noInstructions: 'No instructions.',
    noProjects: 'No projects yet.',
    ofKey: 'Key: {name}',
    ofRole: 'Role: {name}',
    use: 'Use it',
  },
  {
    about: 'Sitzungen zu einem Thema, mit gemeinsamen Anweisungen, Dateien und einem Modell.',
    addChannel: 'Einem Kanal geben',
    addMember: 'Mitglied hinzufügen',
    channelsHint: 'Chats dieser Kanäle gehören zum Projekt: Wer dort schreibt, bekommt, was es hat.',
    deleteProject: 'Projekt löschen',
    deleteText: '„{name}“ und seine Dateien löschen? Die Sitzungen bleiben, ohne die Anweisungen.',
    edit: 'Projekt ändern',
    everybody: 'Alle mit einem Schlüssel',
    filesHint:
      'Jede Sitzung des Projekts hat Kopien davon in ihrem Ordner project/, die neuesten mit ihrer nächsten Nachricht.',
    instructions: 'Anweisungen',
    instructionsHint: 'Neue Sitzungen des Projekts folgen ihnen. Begonnene Sitzungen behalten, was sie haben.',
    manage: 'Mitglieder verwalten',
    may: 'Darf',
    members: 'Mitglieder',
    membersHint: 'Nur Mitglieder sehen das Projekt. Seine Sitzungen sieht auch, wer hier alle Sitzungen sieht.',
    newProject: 'Neues Projekt',
    noInstructions: 'Keine Anweisungen.',
    noProjects: 'Noch keine Projekte.',
    ofKey: 'Schlüssel: {name}',
    ofRole: 'Rolle: {name}',
    use: 'Benutzen',
  },
)
