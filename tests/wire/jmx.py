"""Builds JMeter test plans from a few functions, one for each kind of element."""

from xml.sax.saxutils import escape, quoteattr

# Replaced by the port of the recording server when a plan is written.
PORT = "@PORT@"

# Classes of the user interface, where they are not called after the element. JMeter applies configuration elements by them.
GUI = {
    "ConfigTestElement": "HttpDefaultsGui", "HTTPSamplerProxy": "HttpTestSampleGui", "CSVDataSet": "TestBeanGUI",
    "HeaderManager": "HeaderPanel", "CookieManager": "CookiePanel", "AuthManager": "AuthPanel", "RandomVariableConfig": "TestBeanGUI", "ConstantThroughputTimer": "TestBeanGUI", "PreciseThroughputTimer": "TestBeanGUI",
    "JSR223PreProcessor": "TestBeanGUI", "JSR223PostProcessor": "TestBeanGUI",
}


def prop(name, value):
    if isinstance(value, bool):
        return f'<boolProp name="{name}">{str(value).lower()}</boolProp>'
    if isinstance(value, int):
        return f'<intProp name="{name}">{value}</intProp>'
    if isinstance(value, list):
        return f'<collectionProp name="{name}">{"".join(value)}</collectionProp>'
    if value.startswith("<"):
        return value
    return f'<stringProp name="{name}">{escape(value)}</stringProp>'


def element(cls, properties=None, children="", name="x"):
    inside = "".join(prop(key, value) for key, value in (properties or {}).items())
    gui = GUI.get(cls, cls + "Gui")
    return (f'<{cls} guiclass="{gui}" testclass="{cls}" testname={quoteattr(name)} enabled="true">{inside}</{cls}>'
            f"<hashTree>{children}</hashTree>")


def raw(xml):
    """An element property as XML, to be told from a text."""
    assert xml.startswith("<")
    return xml


def arguments(pairs, prop_name="HTTPsampler.Arguments", kind="HTTPArgument"):
    """Arguments: (name, value[, encode[, metadata]])."""
    entries = []
    for name, value, *more in pairs:
        encode, metadata = (more + [True, "="][len(more):]) if kind == "HTTPArgument" else (None, "=")
        own = "" if encode is None else prop("HTTPArgument.always_encode", encode) + prop("HTTPArgument.use_equals", metadata == "=")
        entries.append(f"<elementProp name={quoteattr(name)} elementType=\"{kind}\">{own}" + prop("Argument.name", name)
                       + f'<stringProp name="Argument.value">{escape(value)}</stringProp>' + (prop("Argument.metadata", metadata) if metadata is not None else "") + "</elementProp>")
    return f'<elementProp name="{prop_name}" elementType="Arguments">{prop("Arguments.arguments", entries)}</elementProp>'


def http(path, method="GET", args=None, body=None, files=None, children="", name=None, host="127.0.0.1", **more):
    """A sampler; `body` is a raw body, `files` are (path, parameter, type)."""
    properties = {}
    if body is not None:
        properties["HTTPSampler.postBodyRaw"] = True
        properties["args"] = arguments([("", body, False)])
    else:
        properties["args"] = arguments(args or [])
    if files:
        each = [f'<elementProp name={quoteattr(path)} elementType="HTTPFileArg">' + prop("File.path", path) + prop("File.paramname", param)
                + prop("File.mimetype", kind) + "</elementProp>" for path, param, kind in files]
        properties["files"] = f'<elementProp name="HTTPsampler.Files" elementType="HTTPFileArgs">{prop("HTTPFileArgs.files", each)}</elementProp>'
    if host:
        properties |= {"HTTPSampler.domain": host, "HTTPSampler.port": PORT}
    properties |= {"HTTPSampler.path": path, "HTTPSampler.method": method}
    usual = {"follow_redirects": True, "auto_redirects": False, "use_keepalive": True, "DO_MULTIPART_POST": False}
    properties |= {f"HTTPSampler.{key}": value for key, value in (usual | more).items() if value is not None}
    return element("HTTPSamplerProxy", properties, children, name or path.split("?")[0])


def group(content, threads=1, loops=1, error="continue", name="g", cls="ThreadGroup", same_user=True, **more):
    main = ('<elementProp name="ThreadGroup.main_controller" elementType="LoopController" guiclass="LoopControlPanel" testclass="LoopController">'
            + prop("LoopController.continue_forever", False) + prop("LoopController.loops", str(loops)) + "</elementProp>")
    properties = {"ThreadGroup.on_sample_error": error, "main": main, "ThreadGroup.num_threads": str(threads), "ThreadGroup.ramp_time": "0",
                  "ThreadGroup.same_user_on_next_iteration": same_user}
    return element(cls, properties | {f"ThreadGroup.{key}": value for key, value in more.items()}, content, name)


def plan(*groups, variables=(), **more):
    own = arguments(variables, "TestPlan.user_defined_variables", "Argument")
    inside = element("TestPlan", {f"TestPlan.{key}": value for key, value in more.items()} | {"own": own}, "".join(groups), "t")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>{inside}</hashTree></jmeterTestPlan>\n'


def variables(*pairs):
    return element("Arguments", {"all": prop("Arguments.arguments", [
        f"<elementProp name={quoteattr(name)} elementType=\"Argument\">" + prop("Argument.name", name)
        + f'<stringProp name="Argument.value">{escape(value)}</stringProp></elementProp>' for name, value in pairs])})


def headers(*pairs):
    return element("HeaderManager", {"HeaderManager.headers": [
        f'<elementProp name="{name}" elementType="Header">' + prop("Header.name", name) + prop("Header.value", value) + "</elementProp>"
        for name, value in pairs]})


def csv(file="data.csv", names="a,b", **more):
    usual = {"delimiter": ",", "fileEncoding": "UTF-8", "filename": file, "ignoreFirstLine": False, "quotedData": False, "recycle": True,
             "shareMode": "shareMode.all", "stopThread": False, "variableNames": names}
    return element("CSVDataSet", usual | more)


def cookies(entries=(), **more):
    each = [f'<elementProp name="{name}" elementType="Cookie" testname="{name}">' + prop("Cookie.value", value) + prop("Cookie.domain", "127.0.0.1")
            + prop("Cookie.path", "/") + prop("Cookie.secure", False) + '<longProp name="Cookie.expires">0</longProp>'
            + prop("Cookie.path_specified", True) + prop("Cookie.domain_specified", True) + "</elementProp>" for name, value in entries]
    return element("CookieManager", {"CookieManager.cookies": each} | {f"CookieManager.{key}": value for key, value in more.items()})


def login(url, user, password, mechanism="BASIC"):
    entry = (f'<elementProp name="" elementType="Authorization">' + prop("Authorization.url", url) + prop("Authorization.username", user)
             + prop("Authorization.password", password) + prop("Authorization.domain", "") + prop("Authorization.realm", "")
             + prop("Authorization.mechanism", mechanism) + "</elementProp>")
    return element("AuthManager", {"AuthManager.auth_list": [entry]})


def defaults(args=(), host="127.0.0.1", port=PORT, path="", protocol=""):
    return element("ConfigTestElement", {"args": arguments(args), "HTTPSampler.domain": host, "HTTPSampler.port": port,
                                         "HTTPSampler.protocol": protocol, "HTTPSampler.path": path})


def extract_regex(name, regex, template="$1$", match="1", default="", **more):
    return element("RegexExtractor", {f"RegexExtractor.{key}": value for key, value in
                                      ({"refname": name, "regex": regex, "template": template, "match_number": match, "default": default,
                                        "useHeaders": "false"} | more).items()})


def extract_json(name, path, match="1", default=""):
    return element("JSONPostProcessor", {f"JSONPostProcessor.{key}": value for key, value in
                                         {"referenceNames": name, "jsonPathExprs": path, "match_numbers": match, "defaultValues": default}.items()})


def assertion(text, field="Assertion.response_data", kind=16, **more):
    return element("ResponseAssertion", {"Asserion.test_strings": [prop("1", text)], "Assertion.test_field": field, "Assertion.test_type": kind,
                                         "Assertion.assume_success": False} | more)


def controller(cls, content, **properties):
    return element(cls, {f"{cls}.{key}": value for key, value in properties.items()}, content)


def loop(times, content):
    return controller("LoopController", content, loops=str(times))


def when(condition, content, expression=True):
    return controller("IfController", content, condition=condition, evaluateAll=False, useExpression=expression)
