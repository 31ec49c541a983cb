"""A small class in the form of the simulators, for the tests."""


class TicketAPI:
    def __init__(self):
        self.tickets = []
        self._counter = 0

    def _load_scenario(self, scenario, long_context=False):
        self._counter = scenario.get("counter", 0)

    def create_ticket(self, title, priority=1):
        if not title:
            raise ValueError("A ticket needs a title.")
        self._counter += 1
        self.tickets.append({"id": self._counter, "title": title, "priority": priority})
        return {"id": self._counter}
