"""Fixtures of the conformance suite that ask the client for something."""

import msgspec
from msgspec import Raw

from kumihimo.wire.content import Text
from kumihimo.wire.errors import MissingCapability
from kumihimo.wire.inputs import Elicit, ElicitAnswer, Question, Roots, RootsAnswer, Sample, SampleAnswer, SampleMessage
from kumihimo.wire.prompt import Prompt
from kumihimo.wire.request import Request
from kumihimo.wire.tool import Tool

NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
OK_FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def question(text: str, max_tokens: int = 100) -> Sample:
    return Sample([SampleMessage("user", Text(text=text))], max_tokens)


def shown(answer: ElicitAnswer) -> str:
    return f"action={answer.action}, content={msgspec.json.encode(answer.content).decode()}"


async def sampling(request: Request, arguments: Raw) -> str:
    answer = await request.sample(question(msgspec.json.decode(arguments)["prompt"]))
    return f"LLM response: {answer.content}"


async def elicitation(request: Request, arguments: Raw) -> str:
    form = {
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    }
    return f"User response: {shown(await request.elicit(msgspec.json.decode(arguments)['message'], form))}"


async def elicitation_defaults(request: Request, arguments: Raw) -> str:
    form = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Name", "default": "John Doe"},
            "age": {"type": "integer", "description": "Age", "default": 30},
            "score": {"type": "number", "description": "Score", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "description": "Verified", "default": True},
        },
        "required": [],
    }
    return f"Elicitation completed: {shown(await request.elicit('Please review and update', form))}"


async def elicitation_enums(request: Request, arguments: Raw) -> str:
    options = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    form = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
        "required": [],
    }
    return f"Elicitation completed: {shown(await request.elicit('Please choose', form))}"


def missing_capability(request: Request, arguments: Raw) -> str:
    if not request.peer.has("sampling"):
        raise MissingCapability({"sampling": {}})
    return "The client can sample"


async def streaming_elicitation(request: Request, arguments: Raw) -> str:
    answer = await request.elicit("What is your name?", NAME_FORM, key="user_name")
    return f"Hello, {answer.content}"


async def ask_name(request: Request, arguments: Raw) -> str:
    answer = await request.elicit("What is your name?", NAME_FORM, key="user_name")
    return f"Hello, {(answer.content or {}).get('name')}!"


async def ask_model(request: Request, arguments: Raw) -> str:
    answer = await request.sample(question("What is the capital of France?"), key="capital_question")
    return f"The model says: {answer.content}"


async def ask_roots(request: Request, arguments: Raw) -> str:
    answer = await request.roots(key="client_roots")
    return "Roots: " + ", ".join(root.uri for root in answer.roots)


async def ask_with_state(request: Request, arguments: Raw) -> str:
    await request.elicit("Please confirm", OK_FORM, key="confirm")
    return "state-ok"


async def ask_several(request: Request, arguments: Raw) -> str:
    answers = await request.ask(
        {
            "user_name": Elicit("What is your name?", NAME_FORM),
            "greeting": question("Generate a greeting", 50),
            "client_roots": Roots(),
        }
    )
    assert isinstance(answers["greeting"], SampleAnswer)
    assert isinstance(answers["client_roots"], RootsAnswer)
    return f"Answered: {', '.join(answers)}"


async def ask_twice(request: Request, arguments: Raw) -> str:
    name = await request.elicit("Step 1: What is your name?", NAME_FORM, key="step1")
    form = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
    color = await request.elicit("Step 2: What is your favorite color?", form, key="step2")
    return f"{shown(name)}; {shown(color)}"


async def ask_what_it_can(request: Request, arguments: Raw) -> str:
    questions: dict[str, Question] = {}
    if request.peer.has("elicitation"):
        questions["user_name"] = Elicit("What is your name?", NAME_FORM)
    if request.peer.has("sampling"):
        questions["greeting"] = question("Generate a greeting", 50)
    await request.ask(questions)
    return "Asked for what the client can do"


async def ask_context(request: Request, arguments: dict[str, str]) -> str:
    form = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}
    answer = await request.elicit("What context should the prompt use?", form, key="user_context")
    return f"Use this context: {(answer.content or {}).get('context')}"


def _text_argument(name: str) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


INPUT_TOOLS = [
    Tool(name="test_sampling", description="Samples", input_schema=_text_argument("prompt"), handler=sampling),
    Tool(name="test_elicitation", description="Elicits", input_schema=_text_argument("message"), handler=elicitation),
    Tool(name="test_elicitation_sep1034_defaults", description="Elicits with defaults", handler=elicitation_defaults),
    Tool(name="test_elicitation_sep1330_enums", description="Elicits choices", handler=elicitation_enums),
    Tool(name="test_missing_capability", description="Needs sampling", handler=missing_capability),
    Tool(name="test_streaming_elicitation", description="Elicits", handler=streaming_elicitation),
    Tool(name="test_input_required_result_elicitation", description="Asks for a name", handler=ask_name),
    Tool(name="test_input_required_result_sampling", description="Asks the model", handler=ask_model),
    Tool(name="test_input_required_result_list_roots", description="Asks for roots", handler=ask_roots),
    Tool(name="test_input_required_result_request_state", description="Keeps a state", handler=ask_with_state),
    Tool(name="test_input_required_result_multiple_inputs", description="Asks three things", handler=ask_several),
    Tool(name="test_input_required_result_multi_round", description="Asks twice", handler=ask_twice),
    Tool(name="test_input_required_result_tampered_state", description="Signs its state", handler=ask_with_state),
    Tool(name="test_input_required_result_capabilities", description="Asks what it can", handler=ask_what_it_can),
]
INPUT_PROMPTS = [
    Prompt(name="test_input_required_result_prompt", description="Asks for its context", handler=ask_context)
]
