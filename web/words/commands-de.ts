/** Describes in German what each command does. The API says it in English. */

/** By what the API says. */
export const germanCommands: Readonly<Record<string, string>> = {
  'Begins a new conversation here. The files and the history stay.':
    'Beginnt hier ein neues Gespräch. Dateien und Verlauf bleiben.',
  'Lists the earlier conversations of this session; with "all" other sessions too.':
    'Zeigt die früheren Gespräche dieser Sitzung, mit „all“ auch andere Sitzungen.',
  'Goes on with an earlier conversation of this session, by its number or title.':
    'Setzt ein früheres Gespräch dieser Sitzung fort, nach Nummer oder Titel.',
  'Takes the last answer back and sends your last message again.':
    'Nimmt die letzte Antwort zurück und sendet deine letzte Nachricht noch einmal.',
  'Takes your last message and its answer out of the conversation, or the last N.':
    'Nimmt deine letzte Nachricht und ihre Antwort aus dem Gespräch, oder die letzten N.',
  'Names the present state of the files.': 'Gibt dem jetzigen Stand der Dateien einen Namen.',
  'Restores the files of before the last turn that changed them, and takes that turn out; or named files.':
    'Setzt die Dateien auf den Stand vor ihrer letzten Änderung zurück und nimmt diese aus dem Gespräch; oder auf einen benannten Stand.',
  'Replaces older messages by a summary: with a focus, or all but your last N messages and their answers.':
    'Fasst ältere Nachrichten zusammen: mit einem Schwerpunkt, oder alle außer deinen letzten N und ihren Antworten.',
  'Shows or changes the title of the conversation.': 'Zeigt oder ändert den Titel des Gesprächs.',
  'Copies the conversation and its files to a new session.':
    'Kopiert das Gespräch und seine Dateien in eine neue Sitzung.',
  'Writes the conversation to a file of the workspace; a chat gets the file.':
    'Schreibt das Gespräch in eine Datei des Arbeitsbereichs.',
  'Stops the turn and the background processes, drops queued messages, and pauses the goal and the loop.':
    'Hält den Lauf und die Hintergrundprozesse an, verwirft wartende Nachrichten und hält Ziel und Schleife an.',
  'Sends a message into the running turn without stopping it.': 'Gibt dem Lauf eine Nachricht, ohne ihn anzuhalten.',
  'Sends a message that gets a turn of its own after the running one.':
    'Sendet eine Nachricht, die nach dem jetzigen Lauf einen eigenen bekommt.',
  'Allows the call that waits for approval: once, for this session, or always.':
    'Erlaubt den Aufruf, der auf Freigabe wartet: einmal, in dieser Sitzung oder immer.',
  'Denies the call that waits for approval. The agent reads the reason.':
    'Lehnt den Aufruf ab, der auf Freigabe wartet. Der Agent liest den Grund.',
  'Works on a prompt beside the conversation. The result comes back as a message.':
    'Bearbeitet eine Aufgabe neben dem Gespräch. Das Ergebnis kommt als Nachricht.',
  'Lists the subagents and processes that run; pauses the start of subagents.':
    'Zeigt laufende Unteragenten und Prozesse; hält den Start von Unteragenten an.',
  'Works towards a goal over several turns, until a judge says that it is reached.':
    'Arbeitet in mehreren Läufen auf ein Ziel hin, bis ein Prüfer sagt, dass es erreicht ist.',
  'Adds a criterion to the goal, or removes one.': 'Fügt dem Ziel eine Bedingung hinzu oder nimmt eine weg.',
  'Sends a prompt, or HEARTBEAT.md, at an interval of at least a minute, while the session is idle.':
    'Sendet in Abständen von mindestens einer Minute eine Aufgabe oder HEARTBEAT.md, solange die Sitzung ruht.',
  'Sends a prompt again until the work is done, at most 100 times. Without an interval the model chooses the pause.':
    'Sendet eine Aufgabe immer wieder, bis sie erledigt ist, höchstens 100-mal. Ohne Abstand wählt das Modell die Pause.',
  'Lists the commands, or explains one.': 'Zeigt die Befehle oder erklärt einen.',
  'Shows what the session does now.': 'Zeigt, was die Sitzung gerade tut.',
  'Shows what takes how much of the context window.': 'Zeigt, was wie viel vom Kontextfenster braucht.',
  'Shows the tokens and the cost of the session and of its last turn.':
    'Zeigt Tokens und Kosten der Sitzung und ihres letzten Laufs.',
  'Shows what the tenant has used in the last days, by model.':
    'Zeigt, was der Mandant in den letzten Tagen verbraucht hat, nach Modell.',
  'Shows as whom you are known here, and what you may do.': 'Zeigt, als wer du hier bekannt bist und was du darfst.',
  'Shows the version of this server.': 'Zeigt die Version dieses Servers.',
  'Shows or changes the model of the session.': 'Zeigt oder ändert das Modell der Sitzung.',
  'Shows or changes how much the model reasons in this session.':
    'Zeigt oder ändert, wie viel das Modell in dieser Sitzung nachdenkt.',
  'Shows or changes how the agent speaks in this conversation.':
    'Zeigt oder ändert, wie der Agent in diesem Gespräch spricht.',
  'Shows or changes which calls ask for approval in this session.':
    'Zeigt oder ändert, welche Aufrufe in dieser Sitzung eine Freigabe brauchen.',
  'Shows what the agent remembers, decides what it wants to remember, restores versions, and forgets.':
    'Zeigt, was der Agent sich merkt, entscheidet über Neues, stellt Fassungen wieder her und vergisst.',
  'Lists the skills that can be used as commands.': 'Zeigt die Fähigkeiten, die als Befehle dienen.',
  'Lists the tools of all MCP servers anew.': 'Liest die Werkzeuge aller MCP-Server neu.',
}
